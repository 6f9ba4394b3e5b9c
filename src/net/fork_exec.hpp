// fork and exec with nothing leaked: chosen descriptors for 0, 1, 2, all others closed, default
// signals. Used for children and for their guard. Internal to net.
#pragma once

#include "base/result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sluice::net {

// A descriptor closed when it goes out of scope.
class owned_fd {
public:
    owned_fd() = default;
    explicit owned_fd(int fd) : fd_(fd) {}
    owned_fd(owned_fd&& other) noexcept : fd_(other.release()) {}
    owned_fd& operator=(owned_fd&& other) noexcept;
    ~owned_fd() { reset(); }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
    void reset();

private:
    int fd_ = -1;
};

struct pipe_ends {
    owned_fd read;
    owned_fd write;
};
base::result<pipe_ends> make_pipe(); // close-on-exec

enum class separation { own_group, own_session };

struct program {
    std::string path;                     // absolute
    std::vector<std::string> arguments;   // with argument 0
    std::vector<std::string> environment; // "NAME=value"
    std::string directory;                // empty = ours
    int stdin_fd = -1;
    int stdout_fd = -1;
    int stderr_fd = -1;
    separation apart = separation::own_group;
};

// The pid. The new process waits until `before_exec` (pid) has returned, and ends if we die before:
// so a group is registered before it can do anything. Faults name what failed, exec included.
base::result<int> fork_exec(const program& what, const std::function<void(int)>& before_exec);

} // namespace sluice::net
