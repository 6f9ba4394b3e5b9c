#include "gateway/claims.hpp"

#include "gateway/replicas.hpp"

namespace sluice::gateway {

aio::task<base::result<claimed>>
claim(const grounds& in, const session::session& host, std::string field, bool from_anyone) {
    auto& store = host.kept()->store();
    auto record = session::records::record_key(host.who().key);
    auto other = co_await store.set_new(record, field, in.replicas.self());
    if (!other) co_return other.error();
    claimed out;
    out.mine = !*other || in.replicas.is_me(**other);
    if (out.mine) co_return out;
    bool free = from_anyone;
    if (!free) free = co_await in.replicas.may_take_over(**other);
    if (free) {
        auto taken = co_await store.set_if(record, field, **other, in.replicas.self());
        if (!taken) co_return taken.error();
        out.mine = *taken;
    }
    if (!out.mine) out.holder = std::move(**other);
    co_return out;
}

} // namespace sluice::gateway
