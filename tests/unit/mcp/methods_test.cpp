#include "mcp/methods.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sluice::mcp;

namespace {

std::vector<method> all() {
    std::vector<method> out;
    for (int i = 0; i <= static_cast<int>(method::roots_list_changed); ++i) {
        out.push_back(static_cast<method>(i));
    }
    return out;
}

} // namespace

TEST_CASE("every method stands in the table at its own place") {
    for (auto m : all())
        CHECK(describe(m).id == m);
}

TEST_CASE("every method is found by its text") {
    for (auto m : all()) {
        if (m != method::unknown) CHECK(describe(describe(m).text).id == m);
    }
}

TEST_CASE("a text that is no method is unknown, and so is an empty one") {
    for (auto text : {"", "tools/", "tools/listt", "Tools/list", "tasks/get", "roots/list"}) {
        CHECK(describe(text).id == method::unknown);
    }
}

TEST_CASE("exactly the lists have a member that holds their items") {
    for (auto m : all())
        CHECK((describe(m).how == handling::list) == !describe(m).list_key.empty());
    CHECK(describe("resources/templates/list").list_key == "resourceTemplates");
}

TEST_CASE("a call of a tool is never sent again, lists and reads may be") {
    CHECK_FALSE(describe(method::tools_call).safe_to_repeat);
    for (auto m : all()) {
        if (describe(m).how == handling::list) CHECK(describe(m).safe_to_repeat);
    }
    CHECK(describe(method::resources_read).safe_to_repeat);
}

TEST_CASE("everything that goes to an upstream needs a capability") {
    for (auto m : all()) {
        if (describe(m).how != handling::local) CHECK_FALSE(describe(m).capability.empty());
    }
}
