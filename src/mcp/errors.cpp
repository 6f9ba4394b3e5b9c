#include "mcp/errors.hpp"

namespace sluice::mcp {

int rpc_code_of(const base::fault& f) {
    switch (f.code) {
    case base::errc::parse_error:
        return code_parse_error;
    case base::errc::invalid_request:
        return code_invalid_request;
    case base::errc::invalid_params:
    case base::errc::not_found:
        return code_invalid_params;
    case base::errc::method_not_found:
        return code_method_not_found;
    case base::errc::unauthorized:
    case base::errc::forbidden:
    case base::errc::too_large:
    case base::errc::too_many:
    case base::errc::timeout:
    case base::errc::cancelled:
    case base::errc::closed:
    case base::errc::unreachable:
    case base::errc::protocol:
    case base::errc::upstream_error:
    case base::errc::config:
    case base::errc::unsupported:
    case base::errc::fenced:
    case base::errc::conflict:
    case base::errc::internal:
        return code_internal;
    }
    return code_internal;
}

int http_status_of(const base::fault& f) {
    switch (f.code) {
    case base::errc::parse_error:
    case base::errc::invalid_request:
    case base::errc::invalid_params:
        return 400;
    case base::errc::not_found:
        return 404;
    case base::errc::unauthorized:
        return 401;
    case base::errc::forbidden:
        return 403;
    case base::errc::too_large:
        return 413;
    case base::errc::too_many:
        return 503;
    case base::errc::timeout:
        return 504;
    case base::errc::method_not_found:
        return 200;
    case base::errc::closed:
    case base::errc::unreachable:
    case base::errc::protocol:
    case base::errc::upstream_error:
        return 502;
    case base::errc::cancelled:
    case base::errc::config:
    case base::errc::unsupported:
    case base::errc::fenced:
    case base::errc::conflict:
    case base::errc::internal:
        return 500;
    }
    return 500;
}

int http_status_of(base::outcome o) {
    switch (o) {
    case base::outcome::ok:
        return 200;
    case base::outcome::auth_required:
        return 401;
    case base::outcome::forbidden:
        return 403;
    case base::outcome::timeout:
        return 504;
    case base::outcome::unreachable:
    case base::outcome::upstream_error:
        return 502;
    case base::outcome::internal:
        return 500;
    }
    return 500;
}

int http_status_of(base::outcome o, const base::fault& f) {
    return f.code == base::errc::too_many ? 503 : http_status_of(o);
}

std::string sentence_for(std::string_view server, base::outcome o, const base::fault& f) {
    std::string text = "upstream '" + std::string(server) + "': ";
    switch (o) {
    case base::outcome::ok:
        return text + "ok";
    case base::outcome::auth_required:
        return text + "it refused our credentials (401); check auth_type and auth_value";
    case base::outcome::forbidden:
        return text + "it forbids this to our credentials (403)";
    case base::outcome::timeout:
        return text + "no answer in time; raise its timeout or look at its health";
    case base::outcome::unreachable:
        // A lost connection is told as it is; why none was made names addresses and files.
        if (f.code == base::errc::closed) return text + f.message;
        return text + "it cannot be reached, or is left alone for a while after repeated failures; "
                      "the gateway's log says more";
    case base::outcome::upstream_error:
        return text + f.message;
    case base::outcome::internal:
        return text + "the gateway could not ask it; its log says why";
    }
    return text;
}

} // namespace sluice::mcp
