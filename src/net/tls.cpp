#include "net/tls.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace sluice::net {

namespace {

namespace ssl = asio::ssl;

bool is_literal(const std::string& host) {
    aio::error_code error;
    asio::ip::make_address(host, error);
    return !error;
}

class stream_over final : public tls_stream {
public:
    stream_over(tcp_socket& socket, ssl::context& context) : stream_(socket, context) {}

    base::result<void> name(const std::string& host) {
        // SNI is for names only (RFC 6066 §3); verification is for both.
        bool sni = is_literal(host) ||
                   SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str()) == 1;
        aio::error_code error;
        stream_.set_verify_mode(ssl::verify_peer, error);
        if (!error) stream_.set_verify_callback(ssl::host_name_verification(host), error);
        if (error || !sni)
            return base::fault(base::errc::internal, "cannot set the TLS server name");
        return {};
    }

    aio::task<base::result<void>> handshake() override {
        auto got = co_await stream_.async_handshake(ssl::stream_base::client, aio::nothrow);
        auto& [error] = got;
        if (!error) co_return base::result<void>();
        auto verdict = SSL_get_verify_result(stream_.native_handle());
        std::string why = error.message();
        if (verdict != X509_V_OK)
            why += std::string(" (") + X509_verify_cert_error_string(verdict) + ")";
        co_return base::fault(base::errc::unreachable, "TLS: " + why);
    }

    aio::task<io_count> read_some(std::span<char> room) override {
        auto got =
            co_await stream_.async_read_some(asio::buffer(room.data(), room.size()), aio::nothrow);
        auto& [error, count] = got;
        co_return io_count{error, count};
    }

    aio::task<io_count> write_some(std::span<const asio::const_buffer> what) override {
        auto got = co_await stream_.async_write_some(what, aio::nothrow);
        auto& [error, count] = got;
        co_return io_count{error, count};
    }

private:
    ssl::stream<tcp_socket&> stream_;
};

class context_of final : public tls_context {
public:
    base::result<void> load(const tls_settings& settings) {
        aio::error_code error;
        if (SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION) != 1) {
            return base::fault(base::errc::internal, "cannot ask for TLS 1.2");
        }
        if (settings.ca_file.empty()) {
            context_.set_default_verify_paths(error);
        } else {
            context_.load_verify_file(settings.ca_file, error);
        }
        if (error) return unusable(settings.ca_file, error);
        if (settings.certificate_file.empty()) return {};
        context_.use_certificate_chain_file(settings.certificate_file, error);
        if (error) return unusable(settings.certificate_file, error);
        const auto& key = settings.key_file.empty() ? settings.certificate_file : settings.key_file;
        context_.use_private_key_file(key, ssl::context::pem, error);
        if (error) return unusable(key, error);
        return {};
    }

    base::result<std::unique_ptr<tls_stream>>
    wrap(tcp_socket& socket, const std::string& host) override {
        auto stream = std::make_unique<stream_over>(socket, context_);
        auto named = stream->name(host);
        if (!named) return named.error();
        return std::unique_ptr<tls_stream>(std::move(stream));
    }

private:
    static base::fault unusable(const std::string& file, const aio::error_code& error) {
        return {base::errc::config, "TLS: " + file + ": " + error.message()};
    }

    ssl::context context_{ssl::context::tls_client};
};

} // namespace

base::result<std::shared_ptr<tls_context>> tls_context::make(const tls_settings& settings) {
    auto context = std::make_shared<context_of>();
    auto loaded = context->load(settings);
    if (!loaded) return loaded.error();
    return std::shared_ptr<tls_context>(std::move(context));
}

} // namespace sluice::net
