#include "gateway/pager.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"
#include "sys/random.hpp"
#include "wire/json.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr auto grace = std::chrono::seconds(5);

base::fault refused(std::string_view reason) {
    return {base::errc::invalid_params, std::string(reason)};
}

// Fields joined by NUL, which none of them can hold (names, ids and digests are visible text).
std::string pack(const std::vector<std::string>& fields) {
    std::string out;
    for (const auto& f : fields)
        out.append(f).push_back('\0');
    return out;
}

std::vector<std::string> unpack(std::string_view text) {
    std::vector<std::string> fields;
    for (auto part : base::split(text, '\0'))
        fields.emplace_back(part);
    if (!fields.empty()) fields.pop_back();
    return fields;
}

std::string write(const position& at) {
    std::string out = "{\"pages\":" + std::to_string(at.pages) + ",\"places\":[";
    for (const auto& p : at.places) {
        if (&p != at.places.data()) out += ',';
        out += "{\"server\":" + wire::quote(p.server) + ",\"cursor\":" + p.cursor;
        if (p.revision) out += ",\"revision\":" + *p.revision;
        out += ",\"seen\":[";
        for (auto digest : p.seen)
            out += (out.back() == '[' ? "" : ",") + std::to_string(digest);
        out += "]}";
    }
    out += "],\"others\":[";
    for (const auto& o : at.others) {
        if (&o != at.others.data()) out += ',';
        out += "{\"server\":" + wire::quote(o.server) +
               ",\"outcome\":" + std::to_string(static_cast<int>(o.how)) +
               ",\"http_status\":" + std::to_string(o.http_status) + "}";
    }
    return out + "]}";
}

std::uint64_t number(std::string_view text) {
    return base::parse_unsigned(text).value_or(0);
}

position read(std::string_view text, std::int64_t deadline_ms) {
    position at;
    at.deadline_ms = deadline_ms;
    wire::object_view record(text);
    at.pages = static_cast<std::uint32_t>(number(record.find("pages").value_or("0")));
    for (auto item : wire::array_view(record.find("places").value_or("[]"))) {
        wire::object_view fields(item);
        place p;
        p.server = wire::unescape(fields.find("server").value_or("\"\""));
        p.cursor = std::string(fields.find("cursor").value_or("\"\""));
        auto revision = fields.find("revision");
        if (revision) p.revision = std::string(*revision);
        for (auto digest : wire::array_view(fields.find("seen").value_or("[]"))) {
            p.seen.push_back(number(digest));
        }
        at.places.push_back(std::move(p));
    }
    for (auto item : wire::array_view(record.find("others").value_or("[]"))) {
        wire::object_view fields(item);
        rested o;
        o.server = wire::unescape(fields.find("server").value_or("\"\""));
        o.how = static_cast<base::outcome>(number(fields.find("outcome").value_or("0")));
        o.http_status = static_cast<int>(number(fields.find("http_status").value_or("0")));
        at.others.push_back(std::move(o));
    }
    return at;
}

} // namespace

std::int64_t pager::new_deadline() const {
    return sys::wall_ms() + settings_.lifetime.count();
}

aio::task<base::result<std::string>> pager::issue(listing where, position at) {
    auto id = sys::random_id();
    // The record outlives its cursor: what ends it is the deadline inside the cursor, to the
    // millisecond, and not a store whose clock is another.
    auto left =
        std::chrono::milliseconds(std::max<std::int64_t>(at.deadline_ms - sys::wall_ms(), 0));
    left += grace;
    auto written = write(at);
    auto stored = co_await store_.put("page:" + id, std::move(written), left);
    if (!stored) co_return stored.error();
    auto token = seals_.seal(
        sys::purpose::cursor,
        pack(
            {std::string(mcp::describe(where.method).text),
             where.principal,
             where.endpoint,
             where.scope,
             where.registry,
             std::to_string(at.deadline_ms),
             id}
        )
    );
    co_return "\"" + token + "\"";
}

aio::task<base::result<position>> pager::open(listing where, std::string cursor) {
    auto plain = seals_.open(sys::purpose::cursor, cursor);
    if (!plain) co_return refused("invalid");
    auto fields = unpack(*plain);
    if (fields.size() != 7 || fields[0] != mcp::describe(where.method).text ||
        fields[1] != where.principal || fields[2] != where.endpoint) {
        co_return refused("invalid");
    }
    auto deadline = static_cast<std::int64_t>(number(fields[5]));
    if (sys::wall_ms() > deadline) co_return refused("expired");
    if (fields[3] != where.scope || fields[4] != where.registry) co_return refused("changed");
    auto record = co_await store_.get("page:" + fields[6]);
    if (!record) co_return record.error();
    if (!*record) co_return refused("forgotten");
    co_return read(**record, deadline);
}

} // namespace sluice::gateway
