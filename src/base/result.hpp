// result<T>: a value or a fault. A fault is a code for machines and a sentence for people.
// Used by every room for what may happen; what must not happen throws instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::base {

enum class errc : std::uint8_t {
    internal,        // a bug or an exhausted resource of our own
    parse_error,     // bytes that are not what the format demands
    invalid_request, // well-formed bytes, not a JSON-RPC message we accept
    invalid_params,  // a message whose parameters are wrong
    method_not_found,
    not_found,      // no such server, session, stream, tool …
    unauthorized,   // who are you
    forbidden,      // we know who; not allowed
    too_large,      // over a limit of size
    too_many,       // over a limit of number
    timeout,        // a deadline passed
    cancelled,      // somebody asked us to stop
    closed,         // the far end, or the queue, is gone
    unreachable,    // never got a connection
    protocol,       // the far end broke its protocol
    upstream_error, // the far end answered with a failure
    config,         // the configuration is wrong
    unsupported,    // not supported (yet)
    fenced,         // somebody else owns it now
    conflict,       // it stands there already
};

struct fault {
    errc code = errc::internal;
    std::string message;
    // An HTTP status the far end gave, 0 when there was none.
    int http_status = 0;

    fault() = default;
    fault(errc c, std::string text, int status = 0)
        : code(c), message(std::move(text)), http_status(status) {}
};

std::string_view name_of(errc code);

// Default-constructed results hold a default value (co_spawn needs that).
template <class T>
class [[nodiscard]] result {
public:
    result() = default;
    result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    result(fault f) : state_(std::in_place_index<1>, std::move(f)) {}

    explicit operator bool() const { return state_.index() == 0; }
    bool ok() const { return state_.index() == 0; }

    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }

    fault& error() & { return std::get<1>(state_); }
    const fault& error() const& { return std::get<1>(state_); }
    fault&& error() && { return std::get<1>(std::move(state_)); }

private:
    std::variant<T, fault> state_;
};

template <>
class [[nodiscard]] result<void> {
public:
    result() = default;
    result(fault f) : fault_(std::move(f)) {}

    explicit operator bool() const { return !fault_; }
    bool ok() const { return !fault_; }

    fault& error() & { return *fault_; }
    const fault& error() const& { return *fault_; }
    fault&& error() && { return *std::move(fault_); }

private:
    std::optional<fault> fault_;
};

} // namespace sluice::base
