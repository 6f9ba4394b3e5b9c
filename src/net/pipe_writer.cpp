#include "net/pipe_writer.hpp"

namespace sluice::net {

namespace {

namespace asio = boost::asio;

constexpr std::size_t max_waiting = 32 * 1024 * 1024;

base::fault gone() {
    return {base::errc::closed, "the child no longer reads"};
}

} // namespace

pipe_writer::pipe_writer(aio::executor ex, int fd) : pipe_(ex, fd) {
    aio::error_code ignored;
    pipe_.non_blocking(true, ignored);
}

aio::task<base::result<void>>
pipe_writer::write(std::shared_ptr<pipe_writer> self, std::string bytes) {
    if (self->closed_) co_return gone();
    if (bytes.empty()) co_return base::result<void>();
    auto one = std::make_shared<message>();
    if (self->outbox_.empty()) { // nearly always it fits at once
        aio::error_code error;
        one->sent = self->pipe_.write_some(asio::buffer(bytes), error);
        if (error && error != asio::error::would_block && error != asio::error::try_again) {
            self->close();
            co_return gone();
        }
        if (one->sent == bytes.size()) co_return base::result<void>();
    }
    if (self->waiting_bytes_ + bytes.size() > max_waiting) {
        if (one->sent > 0) self->close(); // half a message must not be followed by another
        co_return base::fault(base::errc::too_many, "the child does not read what is sent to it");
    }
    one->bytes = std::move(bytes);
    aio::signal_flag flag(self->pipe_.get_executor());
    base::result<void> outcome =
        base::fault(base::errc::cancelled, "cancelled; it may still be written");
    one->waiting = &flag;
    one->outcome = &outcome;
    self->waiting_bytes_ += one->bytes.size();
    self->outbox_.push_back(one);
    if (self->outbox_.size() == 1) self->pump();
    co_await flag.wait();
    one->waiting = nullptr;
    one->outcome = nullptr;
    co_return outcome;
}

void pipe_writer::pump() {
    auto& one = *outbox_.front();
    auto rest = asio::buffer(one.bytes.data() + one.sent, one.bytes.size() - one.sent);
    auto done = [self = shared_from_this()](const aio::error_code& error, std::size_t count) {
        self->on_sent(error, count);
    };
    pipe_.async_write_some(rest, std::move(done));
}

void pipe_writer::on_sent(const aio::error_code& error, std::size_t count) {
    if (closed_) return;
    if (error) {
        close();
        return;
    }
    auto one = outbox_.front();
    one->sent += count;
    if (one->sent == one->bytes.size()) {
        outbox_.pop_front();
        settle(*one, {});
    }
    if (!outbox_.empty()) pump();
}

void pipe_writer::settle(message& one, base::result<void> how) {
    waiting_bytes_ -= one.bytes.size();
    if (one.outcome != nullptr) *one.outcome = std::move(how);
    if (one.waiting != nullptr) one.waiting->wake();
}

void pipe_writer::close() {
    if (closed_) return;
    closed_ = true;
    aio::error_code ignored;
    pipe_.close(ignored);
    auto left = std::move(outbox_);
    outbox_.clear();
    for (auto& one : left)
        settle(*one, gone());
}

} // namespace sluice::net
