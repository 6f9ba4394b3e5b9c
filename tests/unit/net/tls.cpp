#include "net/tls.hpp"

#include "../scratch_directory.hpp"
#include "aio/nursery.hpp"
#include "net/http_client.hpp"
#include "run.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <filesystem>

using namespace sluice;
using namespace sluice::net;

namespace {

namespace ssl = asio::ssl;
using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, aio::executor>;

// A key and its self-signed certificate for `names`, as files that go with the object.
struct identity {
    identity(const std::string& directory, const std::string& label, const char* names)
        : certificate(directory + "/" + label + ".crt"), key(directory + "/" + label + ".key") {
        EVP_PKEY* pair = EVP_EC_gen("P-256");
        X509* cert = X509_new();
        X509_set_version(cert, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
        X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
        X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
        X509_set_pubkey(cert, pair);
        auto* name = X509_get_subject_name(cert);
        const auto* text = reinterpret_cast<const unsigned char*>(label.c_str());
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
        X509_set_issuer_name(cert, name);
        X509_EXTENSION* alt = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
        X509_add_ext(cert, alt, -1);
        X509_EXTENSION_free(alt);
        X509_sign(cert, pair, EVP_sha256());
        std::FILE* out = std::fopen(certificate.c_str(), "w");
        PEM_write_X509(out, cert);
        std::fclose(out);
        out = std::fopen(key.c_str(), "w");
        PEM_write_PrivateKey(out, pair, nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(out);
        X509_free(cert);
        EVP_PKEY_free(pair);
    }
    std::string certificate;
    std::string key;
};

struct tls_house {
    sys::test::scratch_directory files;
    identity server{files.path, "server", "DNS:localhost,IP:127.0.0.1"};
    identity guest{files.path, "guest", "DNS:guest"};
    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    ssl::context context{ssl::context::tls_server};
    acceptor door{loop.get_executor(), {asio::ip::address_v4::any(), 0}};
    aio::nursery crew{loop.get_executor(), "test"};
    std::string asked_for; // the name in the handshake

    tls_house() {
        context.use_certificate_chain_file(server.certificate);
        context.use_private_key_file(server.key, ssl::context::pem);
    }

    url where(const std::string& host) const {
        return *parse_url(
            "https://" + host + ":" + std::to_string(door.local_endpoint().port()) + "/"
        );
    }

    // Serves one connection, request after request, until it closes.
    static aio::task<> serve(tls_house& h) {
        auto got = co_await h.door.async_accept(aio::nothrow);
        auto& [error, socket] = got;
        if (error) co_return;
        ssl::stream<tcp_socket> stream(std::move(socket), h.context);
        auto shaken = co_await stream.async_handshake(ssl::stream_base::server, aio::nothrow);
        if (std::get<0>(shaken)) co_return;
        const char* name = SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
        h.asked_for = name != nullptr ? name : "";
        std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
        char space[4096];
        for (;;) {
            auto read = co_await stream.async_read_some(asio::buffer(space), aio::nothrow);
            if (std::get<0>(read)) co_return;
            co_await asio::async_write(stream, asio::buffer(answer), aio::nothrow);
        }
    }

    // One request over a connection of its own; "" or what was wrong.
    std::string shake_hands(tls_context& by) {
        std::string out;
        auto body = [](tls_house& h, tls_context& by, std::string& out) -> aio::task<> {
            aio::nursery crew(h.loop.get_executor(), "test");
            crew.spawn(serve(h));
            {
                tcp_socket socket(h.loop.get_executor());
                auto to = h.door.local_endpoint();
                to.address(asio::ip::address_v4::loopback());
                co_await socket.async_connect(to, aio::nothrow);
                auto stream = by.wrap(socket, "localhost");
                REQUIRE(stream);
                auto shaken = co_await (*stream)->handshake();
                if (shaken) {
                    // With TLS 1.3 a client hears with its first read that it is not trusted.
                    std::string ask = "GET / HTTP/1.1\r\n\r\n";
                    std::array<asio::const_buffer, 1> what{asio::buffer(ask)};
                    co_await (*stream)->write_some(what);
                    std::array<char, 64> space{};
                    auto read = co_await (*stream)->read_some(space);
                    if (read.error) out = read.error.message();
                } else {
                    out = shaken.error().message;
                }
            }
            crew.stop();
            co_await crew.join();
        };
        test::run(loop, body(*this, by, out));
        return out;
    }

    // The body that `requests` requests to `host` got last, or the fault.
    std::string ask(const std::string& host, tls_settings tls, int requests = 1) {
        std::string out;
        auto body =
            [](tls_house& h, std::string host, tls_settings tls, int requests, std::string& out
            ) -> aio::task<> {
            h.crew.spawn(serve(h));
            {
                client_settings settings;
                settings.tls = std::move(tls);
                http_pool pool(h.loop, h.deadlines, h.where(host), std::move(settings));
                auto until = aio::clock::now() + test::patience;
                for (int i = 0; i < requests; ++i) {
                    client_request request;
                    request.method = "GET";
                    request.target = "/";
                    auto answer = co_await pool.send(std::move(request), until);
                    if (!answer) {
                        out = std::string(base::name_of(answer.error().code)) + ": " +
                              answer.error().message;
                        break;
                    }
                    auto text = co_await read_all(**answer, 100, until);
                    out = text ? *text : text.error().message;
                }
                if (requests > 1) CHECK(pool.count().connects == 1);
            }
            h.crew.stop();
            co_await h.crew.join();
        };
        test::run(loop, body(*this, host, std::move(tls), requests, out));
        return out;
    }
};

} // namespace

TEST_CASE("TLS: the server is verified and named, the connection kept") {
    tls_house h;
    tls_settings tls;
    tls.ca_file = h.server.certificate;
    CHECK(h.ask("localhost", tls, 3) == "secret");
    CHECK(h.asked_for == "localhost");
}

TEST_CASE("TLS: an address is verified, and no name is sent for it") {
    tls_house h;
    tls_settings tls;
    tls.ca_file = h.server.certificate;
    CHECK(h.ask("127.0.0.1", tls) == "secret");
    CHECK(h.asked_for.empty());
}

TEST_CASE("TLS: an unknown authority and another's name are refused before anything is sent") {
    tls_house unknown;
    auto refused = unknown.ask("localhost", {});
    CAPTURE(refused);
    CHECK(refused.starts_with("unreachable: TLS: "));
    CHECK(refused.find("certificate") != refused.npos);

    tls_house misnamed;
    tls_settings tls;
    tls.ca_file = misnamed.server.certificate;
    auto other = misnamed.ask("127.0.0.2", tls); // answered by the same server
    CAPTURE(other);
    CHECK(other.starts_with("unreachable: TLS: "));
}

TEST_CASE("TLS: a client certificate is shown when the server asks") {
    tls_house h;
    h.context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    h.context.load_verify_file(h.guest.certificate);
    tls_settings tls;
    tls.ca_file = h.server.certificate;
    tls.certificate_file = h.guest.certificate;
    tls.key_file = h.guest.key;
    CHECK(h.ask("localhost", tls) == "secret");
}

TEST_CASE("TLS: files that were renewed behind their paths serve the next connection") {
    tls_house h;
    tls_settings tls;
    tls.ca_file = h.server.certificate;
    tls.certificate_file = h.guest.certificate;
    tls.key_file = h.guest.key;
    auto made = tls_context::make(tls);
    REQUIRE(made);
    h.context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    h.context.load_verify_file(h.guest.certificate);
    CHECK(h.shake_hands(**made) == "");

    // Half of it only: the ones before go on.
    sys::test::scratch_directory elsewhere;
    identity next(elsewhere.path, "next-guest", "DNS:guest");
    std::filesystem::rename(next.certificate, h.guest.certificate);
    CHECK(h.shake_hands(**made) == "");

    std::filesystem::rename(next.key, h.guest.key);
    CHECK(h.shake_hands(**made) != ""); // the server trusts the one before
    h.context.load_verify_file(h.guest.certificate);
    CHECK(h.shake_hands(**made) == "");

    // And the authority.
    identity server(elsewhere.path, "next-server", "DNS:localhost");
    h.context.use_certificate_chain_file(server.certificate);
    h.context.use_private_key_file(server.key, ssl::context::pem);
    CHECK(h.shake_hands(**made) != "");
    std::filesystem::rename(server.certificate, h.server.certificate);
    CHECK(h.shake_hands(**made) == "");
}

TEST_CASE("TLS: a file that cannot be used is a fault of the configuration") {
    tls_house h;
    tls_settings tls;
    tls.ca_file = h.files.path + "/missing.pem";
    auto refused = h.ask("localhost", tls);
    CAPTURE(refused);
    CHECK(refused.starts_with("config: "));
    CHECK(refused.find("missing.pem") != refused.npos);
}
