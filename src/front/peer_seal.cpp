#include "front/peer_seal.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"
#include "sys/random.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace sluice::front {

namespace {

constexpr std::string_view mark = "x-sluice-peer-";
constexpr std::string_view signature_header = "x-sluice-peer-signature";
constexpr std::string_view signed_header = "x-sluice-peer-signed";

// Of one connection, or made anew by net.
constexpr std::array of_one_hop = std::to_array<std::string_view>({
    "connection",
    "content-length",
    "date",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
});

bool is_carried(std::string_view name) {
    return !name.starts_with(mark) &&
           std::find(of_one_hop.begin(), of_one_hop.end(), name) == of_one_hop.end();
}

std::string
text_to_sign(std::string_view method, std::string_view target, const net::fields& headers) {
    std::string out = "sluice peer 1\n";
    out.append(method).append("\n").append(target).append("\n");
    auto names = headers.get(signed_header).value_or("");
    out.append(names).append("\n");
    for (auto name : base::split(names, ',')) {
        for (const auto& [key, value] : headers.all()) {
            if (base::iequals(key, name)) out.append(name).append(":").append(value).append("\n");
        }
    }
    return out;
}

std::string text_at(const net::fields& headers, std::string_view what) {
    auto name = std::string(mark) + std::string(what);
    return std::string(headers.get(name).value_or(""));
}

bool is_whole(const peer_claim& c) {
    return !c.from.empty() && !c.to.empty() && !c.principal.empty() && !c.digest.empty();
}

} // namespace

net::fields sign_request(
    const sys::sealer& seals,
    std::string_view method,
    std::string_view target,
    const net::fields& carried,
    peer_claim claim
) {
    net::fields out;
    std::set<std::string> names;
    for (const auto& [key, value] : carried.all()) {
        auto name = base::lower(key);
        if (!is_carried(name)) continue;
        names.insert(name);
        out.add(std::move(name), value);
    }
    auto add = [&](std::string_view what, std::string value) {
        auto name = std::string(mark) + std::string(what);
        names.insert(name);
        out.add(std::move(name), std::move(value));
    };
    add("from", std::move(claim.from));
    add("to", std::move(claim.to));
    add("principal", std::move(claim.principal));
    add("digest", std::move(claim.digest));
    add("said-by", std::move(claim.said_by));
    add("time", std::to_string(sys::wall_ms()));
    add("nonce", sys::random_id());
    std::vector<std::string> all(names.begin(), names.end());
    out.add(std::string(signed_header), base::join(all, ","));
    out.add(
        std::string(signature_header),
        seals.sign(sys::purpose::peer, text_to_sign(method, target, out))
    );
    return out;
}

bool nonce_memory::take(std::string_view nonce, std::int64_t until_ms) {
    auto now = sys::wall_ms();
    while (!order_.empty() && order_.front().first < now) {
        seen_.erase(order_.front().second);
        order_.pop_front();
    }
    if (order_.size() >= most_) return false;
    auto brief = base::fnv1a(nonce);
    if (!seen_.insert(brief).second) return false;
    order_.emplace_back(until_ms, brief);
    return true;
}

std::string_view name_of(peer_doubt doubt) {
    switch (doubt) {
    case peer_doubt::none:
        return "none";
    case peer_doubt::unsigned_:
        return "unsigned";
    case peer_doubt::forged:
        return "signature";
    case peer_doubt::clock:
        return "clock";
    case peer_doubt::replay:
        return "replay";
    case peer_doubt::elsewhere:
        return "elsewhere";
    }
    return "";
}

peer_verdict
verify_request(const sys::sealer& seals, const net::request_head& head, nonce_memory& nonces) {
    const auto& headers = head.headers;
    peer_verdict out;
    auto signature = headers.get(signature_header);
    auto names = headers.get(signed_header);
    if (!signature || !names) {
        out.doubt = peer_doubt::unsigned_;
        return out;
    }
    auto text = text_to_sign(head.method, head.target, headers);
    std::set<std::string> known;
    for (auto name : base::split(*names, ','))
        known.insert(base::lower(name));
    bool claims_signed = true;
    for (auto what : {"from", "to", "principal", "digest", "said-by", "time", "nonce"})
        claims_signed = claims_signed && known.count(std::string(mark) + what) == 1 &&
                        headers.count(std::string(mark) + what) == 1;
    out.claim = {
        text_at(headers, "from"),
        text_at(headers, "to"),
        text_at(headers, "principal"),
        text_at(headers, "digest"),
        text_at(headers, "said-by")
    };
    if (!seals.is_signed(sys::purpose::peer, text, *signature) || !claims_signed ||
        !is_whole(out.claim)) {
        out.doubt = peer_doubt::forged;
        return out;
    }
    auto sent =
        static_cast<std::int64_t>(base::parse_unsigned(text_at(headers, "time")).value_or(0));
    if (std::abs(sys::wall_ms() - sent) > peer_clock_skew_ms) {
        out.doubt = peer_doubt::clock;
        return out;
    }
    if (!nonces.take(text_at(headers, "nonce"), sent + peer_clock_skew_ms)) {
        out.doubt = peer_doubt::replay;
        return out;
    }
    for (const auto& [key, value] : headers.all()) {
        auto name = base::lower(key);
        if (known.count(name) == 1 && is_carried(name)) out.headers.add(std::move(name), value);
    }
    return out;
}

} // namespace sluice::front
