#include "net/tls.hpp"

#include "sys/file_mark.hpp"
#include "sys/log.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <array>

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

base::fault unusable(const std::string& file, const aio::error_code& error) {
    return {base::errc::config, "TLS: " + file + ": " + error.message()};
}

using shared_context = std::shared_ptr<ssl::context>;

base::result<shared_context> load(const tls_settings& settings) {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    aio::error_code error;
    if (SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION) != 1) {
        return base::fault(base::errc::internal, "cannot ask for TLS 1.2");
    }
    if (settings.ca_file.empty()) {
        context->set_default_verify_paths(error);
    } else {
        context->load_verify_file(settings.ca_file, error);
    }
    if (error) return unusable(settings.ca_file, error);
    if (settings.certificate_file.empty()) return context;
    context->use_certificate_chain_file(settings.certificate_file, error);
    if (error) return unusable(settings.certificate_file, error);
    const auto& key = settings.key_file.empty() ? settings.certificate_file : settings.key_file;
    context->use_private_key_file(key, ssl::context::pem, error);
    if (error) return unusable(key, error);
    return context;
}

using file_marks = std::array<sys::file_mark, 3>;

file_marks marks_of(const tls_settings& settings) {
    return {
        sys::file_mark(settings.ca_file),
        sys::file_mark(settings.certificate_file),
        sys::file_mark(settings.key_file)
    };
}

class context_of final : public tls_context {
public:
    context_of(tls_settings settings, const file_marks& marks, shared_context context)
        : settings_(std::move(settings)), marks_(marks), context_(std::move(context)) {}

    base::result<std::unique_ptr<tls_stream>>
    wrap(tcp_socket& socket, const std::string& host) override {
        look_again();
        auto stream = std::make_unique<stream_over>(socket, *context_);
        auto named = stream->name(host);
        if (!named) return named.error();
        return std::unique_ptr<tls_stream>(std::move(stream));
    }

private:
    // A certificate that was renewed behind its path serves the next connection. While its files
    // cannot be used, or not together yet, the ones before do.
    void look_again() {
        auto marks = marks_of(settings_);
        if (marks == marks_) return;
        marks_ = marks; // tried, and said, once for each change
        auto fresh = load(settings_);
        if (!fresh) {
            sys::log_line(sys::log_level::warn, "tls")
                .field("text", "files have changed and cannot be used: " + fresh.error().message);
            return;
        }
        context_ = std::move(*fresh);
        sys::log_line(sys::log_level::info, "tls")
            .field("text", "files have changed and were read again")
            .field(
                "file",
                settings_.certificate_file.empty() ? settings_.ca_file : settings_.certificate_file
            );
    }

    tls_settings settings_;
    file_marks marks_;
    shared_context context_; // streams keep what they were made with
};

} // namespace

base::result<std::shared_ptr<tls_context>> tls_context::make(const tls_settings& settings) {
    auto marks = marks_of(settings);
    auto context = load(settings);
    if (!context) return context.error();
    return std::shared_ptr<tls_context>(
        std::make_shared<context_of>(settings, marks, std::move(*context))
    );
}

} // namespace sluice::net
