#include "app/hash_key.hpp"

#include "base/secret.hpp"
#include "base/text.hpp"
#include "sys/digest.hpp"
#include "sys/random.hpp"

#include <cstdio>
#include <iostream>
#include <string>
#include <termios.h>
#include <unistd.h>

namespace sluice::app {

namespace {

constexpr std::size_t fair_length = 16;

// No echo while it lives; only on a terminal.
class silence {
public:
    silence() {
        active_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
        if (!active_) return;
        termios quiet = before_;
        quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
        std::fputs("key: ", stderr);
    }
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;
    ~silence() {
        if (!active_) return;
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
        std::fputc('\n', stderr);
    }

private:
    termios before_{};
    bool active_ = false;
};

base::secret read_key() {
    silence quiet;
    std::string line;
    std::getline(std::cin, line);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.pop_back();
    return base::secret(std::move(line));
}

std::string hash_of(const base::secret& key) {
    return base::hex(sys::sha256(key.reveal()));
}

} // namespace

int gen_salt() {
    std::printf("%s\n", sys::random_id(32).c_str());
    return 0;
}

int hash_key(bool generate) {
    if (generate) {
        base::secret key("sk-" + sys::random_id(32));
        std::printf("key     %s\n", std::string(key.reveal()).c_str());
        std::printf("sha256  %s\n", hash_of(key).c_str());
        return 0;
    }
    auto key = read_key();
    if (key.empty()) {
        std::fputs("sluice: no key came on standard input\n", stderr);
        return 2;
    }
    if (key.reveal().find_first_not_of(
            "!\"#$%&'()*+,-./"
            "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
        ) != std::string_view::npos) {
        std::fputs(
            "sluice: a key is visible ASCII without spaces: it travels in a header\n", stderr
        );
        return 2;
    }
    if (key.reveal().size() < fair_length)
        std::fputs("sluice: that key is short and can be guessed; see --generate\n", stderr);
    std::printf("%s\n", hash_of(key).c_str());
    return 0;
}

} // namespace sluice::app
