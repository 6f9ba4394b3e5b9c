#include "wire/resp.hpp"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include <cstdlib>
#include <new>

namespace sluice::wire {

namespace {

using type = resp_reply::type;

// hiredis builds its tree through these; the tree is ours, so that nothing is copied twice. The
// root is on the heap, every other reply lies in its parent's vector, sized before its items come.
resp_reply* place_for(const redisReadTask* task) {
    if (task->parent == nullptr) return new (std::nothrow) resp_reply;
    auto* parent = static_cast<resp_reply*>(task->parent->obj);
    return &parent->items[static_cast<std::size_t>(task->idx)];
}

void* make_text(const redisReadTask* task, char* bytes, std::size_t count) {
    auto* made = place_for(task);
    if (made == nullptr) return nullptr;
    made->kind = task->type == REDIS_REPLY_ERROR ? type::error : type::text;
    made->text.assign(bytes, count);
    return made;
}

#if HIREDIS_MAJOR >= 1
using array_count = std::size_t;
#else
using array_count = int;
#endif

void* make_array(const redisReadTask* task, array_count count) {
    auto limit = *static_cast<std::size_t*>(task->privdata);
    if (static_cast<std::size_t>(count) > limit) return nullptr; // a negative one is larger still
    auto* made = place_for(task);
    if (made == nullptr) return nullptr;
    made->kind = type::array;
    made->items.resize(static_cast<std::size_t>(count));
    return made;
}

void* make_integer(const redisReadTask* task, long long value) {
    auto* made = place_for(task);
    if (made == nullptr) return nullptr;
    made->kind = type::integer;
    made->number = value;
    return made;
}

void* make_nil(const redisReadTask* task) {
    return place_for(task); // it is nil as it is
}

void drop(void* root) {
    delete static_cast<resp_reply*>(root);
}

#if HIREDIS_MAJOR >= 1
// RESP3's own kinds are never asked for: a failure, not a guess.
void* refuse_double(const redisReadTask*, double, char*, std::size_t) {
    return nullptr;
}
void* refuse_switch(const redisReadTask*, int) {
    return nullptr;
}
redisReplyObjectFunctions makers = {
    make_text, make_array, make_integer, refuse_double, make_nil, refuse_switch, drop
};
#else
redisReplyObjectFunctions makers = {make_text, make_array, make_integer, make_nil, drop};
#endif

base::fault broken(const char* why) {
    return {base::errc::protocol, std::string("not RESP: ") + why};
}

} // namespace

struct resp_reader::state {
    explicit state(resp_limits l) : limits(l), reader(redisReaderCreateWithFunctions(&makers)) {
        if (reader == nullptr) throw std::bad_alloc();
        reader->privdata = &limits.items;
    }
    ~state() { redisReaderFree(reader); }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    resp_limits limits;
    redisReader* reader;
    std::size_t since = 0; // bytes fed since the last whole reply
};

resp_reader::resp_reader(resp_limits limits) : state_(std::make_unique<state>(limits)) {}
resp_reader::~resp_reader() = default;

void resp_reader::feed(std::string_view bytes) {
    if (bytes.empty()) return;
    state_->since += bytes.size();
    redisReaderFeed(state_->reader, bytes.data(), bytes.size()); // next() tells of a failure
}

base::result<std::optional<resp_reply>> resp_reader::next() {
    void* got = nullptr;
    if (redisReaderGetReply(state_->reader, &got) != REDIS_OK)
        return broken(redisReaderGetError(state_->reader));
    if (got == nullptr) {
        if (state_->since > state_->limits.bytes) return broken("the reply is too large");
        return std::optional<resp_reply>();
    }
    std::unique_ptr<resp_reply> whole(static_cast<resp_reply*>(got));
    state_->since = state_->reader->len - state_->reader->pos;
    return std::optional(std::move(*whole));
}

std::string resp_command(std::span<const std::string_view> words) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    starts.reserve(words.size());
    sizes.reserve(words.size());
    for (auto word : words) {
        starts.push_back(word.empty() ? "" : word.data());
        sizes.push_back(word.size());
    }
    char* bytes = nullptr;
    int count =
        redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), starts.data(), sizes.data());
    if (count < 0) throw std::bad_alloc();
    std::string made(bytes, static_cast<std::size_t>(count));
    std::free(bytes); // NOLINT: hiredis gives it from malloc
    return made;
}

} // namespace sluice::wire
