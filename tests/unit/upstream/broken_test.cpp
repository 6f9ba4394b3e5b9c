// An upstream that breaks connections: what may be sent again is, what may have run is not.
#include "aio/nursery.hpp"
#include "scene.hpp"

#include <boost/asio/ip/tcp.hpp>

using namespace sluice;
using namespace sluice::upstream;
using namespace sluice::upstream::test;
using base::errc;

namespace {

using acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, aio::executor>;

// Speaks just enough HTTP; closes the connection, without a word, on the first `breaks` calls.
struct breaking {
    explicit breaking(int breaks) : left(breaks) {
        boost::asio::ip::tcp::endpoint here(boost::asio::ip::address_v4::loopback(), 0);
        door.open(here.protocol());
        door.bind(here);
        door.listen();
        server_settings about;
        about.name = "raw";
        about.url = "http://127.0.0.1:" + std::to_string(door.local_endpoint().port()) + "/";
        surroundings around{loop, deadlines, nullptr, [](auto, auto) {}};
        under_test = make_server(around, std::move(about), {}, {});
    }

    static aio::task<> accept(breaking& s) {
        co_await aio::keep_running_when_cancelled();
        for (;;) {
            auto got = co_await s.door.async_accept(aio::nothrow);
            if (std::get<0>(got)) co_return;
            ++s.connections;
            s.lines.spawn(serve(s, std::move(std::get<1>(got))));
        }
    }

    static aio::task<> serve(breaking& s, net::tcp_socket socket) {
        co_await aio::keep_running_when_cancelled();
        net::test::raw_peer peer(std::move(socket));
        for (;;) {
            auto head = co_await peer.read_until("\r\n\r\n");
            auto at = head.find("Content-Length: ");
            if (at == head.npos) co_return;
            auto length = std::stoul(head.substr(at + 16));
            std::string body = co_await peer.read_until("}");
            while (body.size() < length)
                body += co_await peer.read_until("}");
            std::string answer;
            if (body.find("initialize\"") != body.npos)
                answer = wire::make_result(id_of(body), init_result);
            bool is_call = answer.empty() && body.find("\"id\"") != body.npos;
            if (is_call) ++s.calls;
            if (is_call && s.left-- > 0) co_return;
            if (is_call) answer = wire::make_result(id_of(body), "{}");
            std::string type = "Content-Type: application/json\r\n";
            bool sent = co_await peer.send(
                "HTTP/1.1 200 OK\r\n" + type + "Content-Length: " + std::to_string(answer.size()) +
                "\r\n\r\n" + answer
            );
            if (!sent) co_return;
        }
    }

    void run(std::function<aio::task<>(breaking&)> body) {
        lines.spawn(accept(*this));
        auto all = [](breaking& s, std::function<aio::task<>(breaking&)> inner) -> aio::task<> {
            co_await inner(s);
            co_await s.under_test->shut_down();
            s.under_test.reset();
            s.door.close();
            s.lines.stop();
            co_await s.lines.join();
        };
        net::test::run(loop, all(*this, std::move(body)));
    }

    aio::task<heard> open_and_call(repeat again) {
        open_request request;
        request.until = soon();
        auto opened = co_await under_test->open(std::move(request));
        REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
        co_return co_await test::call(**opened, ask(plain_call, again));
    }

    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    acceptor door{loop.get_executor()};
    aio::nursery lines{loop.get_executor(), "test"};
    int left;
    int calls = 0;
    int connections = 0;
    std::unique_ptr<server> under_test;
};

} // namespace

TEST_CASE("a list whose connection broke before an answer is asked once more, afresh") {
    breaking s(1);
    s.run([](breaking& s) -> aio::task<> {
        auto got = co_await s.open_and_call(repeat::once);
        CHECK(got.response == wire::make_result("2", "{}"));
        CHECK(s.calls == 2);
        CHECK(s.connections == 2);
    });
}

TEST_CASE("a list whose connections keep breaking is given up") {
    breaking s(100);
    s.run([](breaking& s) -> aio::task<> {
        auto got = co_await s.open_and_call(repeat::once);
        CHECK(got.fault.code == errc::closed);
        CHECK(s.calls == 2);
    });
}

TEST_CASE("a call that may act is never sent twice") {
    breaking s(1);
    s.run([](breaking& s) -> aio::task<> {
        auto got = co_await s.open_and_call(repeat::never);
        CHECK(got.fault.code == errc::closed);
        CHECK(got.fault.message.find("not known") != std::string::npos);
        CHECK(s.calls == 1);
    });
}
