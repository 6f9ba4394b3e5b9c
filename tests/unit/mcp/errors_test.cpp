#include "mcp/errors.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using base::errc;
using base::outcome;

TEST_CASE("faults of a message have the codes of JSON-RPC") {
    CHECK(mcp::rpc_code_of({errc::parse_error, ""}) == -32700);
    CHECK(mcp::rpc_code_of({errc::invalid_request, ""}) == -32600);
    CHECK(mcp::rpc_code_of({errc::method_not_found, ""}) == -32601);
    CHECK(mcp::rpc_code_of({errc::invalid_params, ""}) == -32602);
    CHECK(mcp::rpc_code_of({errc::timeout, ""}) == -32603);
}

TEST_CASE("an unknown name is a wrong parameter") {
    CHECK(mcp::rpc_code_of({errc::not_found, ""}) == mcp::code_invalid_params);
}

TEST_CASE("a refusal by HTTP has the status of its reason") {
    CHECK(mcp::http_status_of(base::fault(errc::parse_error, "")) == 400);
    CHECK(mcp::http_status_of(base::fault(errc::unauthorized, "")) == 401);
    CHECK(mcp::http_status_of(base::fault(errc::forbidden, "")) == 403);
    CHECK(mcp::http_status_of(base::fault(errc::not_found, "")) == 404);
    CHECK(mcp::http_status_of(base::fault(errc::too_large, "")) == 413);
    CHECK(mcp::http_status_of(base::fault(errc::too_many, "")) == 503);
}

TEST_CASE("the status of a single-server route tells the upstream's outcome") {
    CHECK(mcp::http_status_of(outcome::ok) == 200);
    CHECK(mcp::http_status_of(outcome::auth_required) == 401);
    CHECK(mcp::http_status_of(outcome::forbidden) == 403);
    CHECK(mcp::http_status_of(outcome::unreachable) == 502);
    CHECK(mcp::http_status_of(outcome::upstream_error) == 502);
    CHECK(mcp::http_status_of(outcome::timeout) == 504);
    CHECK(mcp::http_status_of(outcome::internal) == 500);
    base::fault full(errc::too_many, "");
    CHECK(mcp::http_status_of(base::outcome_of(full), full) == 503);
    base::fault broken(errc::protocol, "");
    CHECK(mcp::http_status_of(base::outcome_of(broken), broken) == 502);
}

TEST_CASE("the sentence names the server and, where we can, says what to do") {
    base::fault refused(errc::unauthorized, "upstream prose", 401);
    auto text = mcp::sentence_for("jira", outcome::auth_required, refused);
    CHECK(text.find("'jira'") != std::string::npos);
    CHECK(text.find("auth_value") != std::string::npos);
    CHECK(text.find("prose") == std::string::npos);
}
