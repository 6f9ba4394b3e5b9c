#include "app/client/dialog.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::app;

namespace {

constexpr auto door =
    R"({"message":"Which\u001b[2J door?","requestedSchema":{"type":"object","properties":{)"
    R"("n\u0061me":{"type":"string","title":"Name"},)"
    R"("count":{"type":"integer","minimum":1,"default":3},)"
    R"("fast":{"type":"boolean"}},"required":["name"]}})";

// A dialog and everything it showed.
struct talk {
    explicit talk(std::string_view params) {
        auto made = dialog_for(params, terminal(), "shop\x1b");
        REQUIRE(made);
        d = std::move(*made);
        shown = d->show();
    }
    talk& type(std::initializer_list<const char*> lines) {
        for (const auto* line : lines) {
            REQUIRE_FALSE(d->over());
            d->take(line);
            if (!d->over()) shown += d->show();
        }
        return *this;
    }
    bool showed(std::string_view what) const { return shown.find(what) != std::string::npos; }

    std::unique_ptr<dialog> d;
    std::string shown;
};

} // namespace

TEST_SUITE("app/client/dialog") {
    TEST_CASE("what is sent is what was typed, with the server's own keys, after an explicit yes") {
        talk t(door);
        t.type({"Anna", "", "y"});
        CHECK_FALSE(t.d->over());
        CHECK(t.showed("This will be sent:\n  Name (name) = Anna\n  count = 3\n  fast = yes\n"));
        t.type({"", "maybe", "y"});
        CHECK(
            t.d->result() ==
            R"({"action":"accept","content":{"n\u0061me":"Anna","count":3,"fast":true}})"
        );
    }
    TEST_CASE("invalid input is asked again, with what is wanted") {
        talk t(door);
        t.type({"", "A", "0", "four", "4"});
        CHECK(t.showed("this one is required"));
        CHECK(t.showed("that is too small; please: a whole number at least 1"));
        CHECK(t.showed("that is no number"));
        t.type({"", "y"});
        CHECK(t.d->result() == R"({"action":"accept","content":{"n\u0061me":"A","count":4}})");
    }
    TEST_CASE("an optional field is left out by Enter, or by /skip when it has a default") {
        talk t(door);
        t.type({"/skip", "A", "/skip", "", "y"});
        CHECK(t.d->result() == R"({"action":"accept","content":{"n\u0061me":"A"}})");
    }
    TEST_CASE("decline and cancel end it anywhere and send no content") {
        for (const auto* word : {"/decline", " /decline "}) {
            talk t(door);
            t.type({"Anna", word});
            CHECK(t.d->result() == R"({"action":"decline"})");
        }
        talk dismissed(door);
        dismissed.type({"/cancel"});
        CHECK(dismissed.d->result() == R"({"action":"cancel"})");
        talk hung_up(door);
        hung_up.type({"Anna"});
        hung_up.d->hang_up();
        CHECK(hung_up.d->result() == R"({"action":"cancel"})");
        talk at_the_end(door);
        at_the_end.type({"Anna", "", "", "n"});
        CHECK(at_the_end.d->result() == R"({"action":"decline"})");
    }
    TEST_CASE("a word of ours can be typed as text") {
        talk t(door);
        t.type({"//decline", "", "", "y"});
        CHECK(
            t.d->result() == R"({"action":"accept","content":{"n\u0061me":"/decline","count":3}})"
        );
        talk path(door);
        path.type({"//server/share", "", "", "y"});
        CHECK(path.d->result().find("//server/share") != std::string::npos);
    }
    TEST_CASE("edit asks everything again") {
        talk t(door);
        t.type({"A", "", "", "e", "B", "", "", "y"});
        CHECK(t.d->result() == R"({"action":"accept","content":{"n\u0061me":"B","count":3}})");
    }
    TEST_CASE("a form without fields still wants a yes") {
        talk t(R"({"message":"Sure?","requestedSchema":{"type":"object","properties":{}}})");
        t.type({"", "y"});
        CHECK(t.d->result() == R"({"action":"accept","content":{}})");
    }
    TEST_CASE("nothing of the server's text can steer the terminal") {
        talk t(door);
        CHECK(t.shown.find('\x1b') == std::string::npos);
        CHECK(t.showed("door?"));
    }
    TEST_CASE("a page is shown in full and agreed to, declined or cancelled") {
        auto page =
            R"({"mode":"url","message":"Log in","elicitationId":"e","url":)"
            R"("https://trusted.example@evil.example:8443/a/long/path/that/is/longer/than/the/terminal/is/wide/x?y=1#z"})";
        talk t(page);
        CHECK(t.showed(
            "https://trusted.example@evil.example:8443/a/long/path/that/is/longer/than/the/"
            "terminal/is/wide/x?y=1#z\n"
        ));
        CHECK(t.showed("before the @"));
        t.type({"", "ok", "y"});
        CHECK(t.d->result() == R"({"action":"accept"})");
        CHECK(talk(page).type({"n"}).d->result() == R"({"action":"decline"})");
        CHECK(talk(page).type({"/cancel"}).d->result() == R"({"action":"cancel"})");
    }
    TEST_CASE("what cannot be asked is a fault for the server") {
        for (auto params :
             {R"({})",
              R"({"message":1})",
              R"({"message":"m"})",
              R"({"message":"m","requestedSchema":{"properties":{"p":{"type":"object"}}}})",
              R"({"message":"m","mode":"voice"})",
              R"({"message":"m","mode":7})",
              R"({"message":"m","mode":"url"})",
              R"({"message":"m","mode":"url","url":"javascript:alert"})",
              R"({"message":"m","mode":"url","url":"https://a\u001b[2J.example/"})"})
            CHECK_FALSE(dialog_for(params, terminal(), "s"));
    }
}
