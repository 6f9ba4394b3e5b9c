#include "base/result.hpp"

#include "base/outcome.hpp"

namespace sluice::base {

std::string_view name_of(errc code) {
    switch (code) {
    case errc::internal:
        return "internal";
    case errc::parse_error:
        return "parse_error";
    case errc::invalid_request:
        return "invalid_request";
    case errc::invalid_params:
        return "invalid_params";
    case errc::method_not_found:
        return "method_not_found";
    case errc::not_found:
        return "not_found";
    case errc::unauthorized:
        return "unauthorized";
    case errc::forbidden:
        return "forbidden";
    case errc::too_large:
        return "too_large";
    case errc::too_many:
        return "too_many";
    case errc::timeout:
        return "timeout";
    case errc::cancelled:
        return "cancelled";
    case errc::closed:
        return "closed";
    case errc::unreachable:
        return "unreachable";
    case errc::protocol:
        return "protocol";
    case errc::upstream_error:
        return "upstream_error";
    case errc::config:
        return "config";
    case errc::unsupported:
        return "unsupported";
    case errc::fenced:
        return "fenced";
    case errc::conflict:
        return "conflict";
    }
    return "unknown";
}

std::string_view name_of(outcome o) {
    switch (o) {
    case outcome::ok:
        return "ok";
    case outcome::auth_required:
        return "auth_required";
    case outcome::forbidden:
        return "forbidden";
    case outcome::timeout:
        return "timeout";
    case outcome::unreachable:
        return "unreachable";
    case outcome::upstream_error:
        return "upstream_error";
    case outcome::internal:
        return "internal";
    }
    return "internal";
}

outcome outcome_of(const fault& f) {
    switch (f.code) {
    case errc::unauthorized:
        return outcome::auth_required;
    case errc::forbidden:
        return outcome::forbidden;
    case errc::timeout:
        return outcome::timeout;
    case errc::unreachable:
    case errc::closed:
        return outcome::unreachable;
    case errc::parse_error:
    case errc::invalid_request:
    case errc::invalid_params:
    case errc::method_not_found:
    case errc::not_found:
    case errc::too_large:
    case errc::too_many:
    case errc::protocol:
    case errc::upstream_error:
        return outcome::upstream_error;
    case errc::cancelled:
    case errc::config:
    case errc::unsupported:
    case errc::fenced:
    case errc::conflict:
    case errc::internal:
        return outcome::internal;
    }
    return outcome::internal;
}

} // namespace sluice::base
