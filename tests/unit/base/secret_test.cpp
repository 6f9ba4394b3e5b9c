#include "base/secret.hpp"

#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <type_traits>

using namespace sluice;

namespace {

template <class T>
concept printable = requires(std::ostream& out, const T& value) { out << value; };
template <class T>
concept comparable = requires(const T& a, const T& b) { a == b; };

// The bytes that an object occupies, whatever they mean: a short text lies in the string itself.
template <class T>
std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

} // namespace

static_assert(!printable<base::secret>);
static_assert(!comparable<base::secret>);
static_assert(!std::is_convertible_v<base::secret, std::string>);
static_assert(!std::is_convertible_v<base::secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string, base::secret>);

TEST_CASE("a secret reveals its text only when asked") {
    base::secret s("hunter2");
    CHECK(s.reveal() == "hunter2");
    CHECK_FALSE(s.empty());
    CHECK(base::secret().empty());
}

TEST_CASE("a secret that was moved away leaves nothing behind") {
    base::secret from("hunter2");
    base::secret to(std::move(from));
    CHECK(to.reveal() == "hunter2");
    CHECK(bytes_of(from).find("unter") == std::string::npos); // NOLINT(bugprone-use-after-move)
}

TEST_CASE("a secret that is replaced leaves nothing behind") {
    base::secret s("hunter2");
    s = base::secret("x");
    CHECK(s.reveal() == "x");
    CHECK(bytes_of(s).find("nter") == std::string::npos);
    base::secret other("y");
    s = base::secret("hunter2");
    s = other;
    CHECK(s.reveal() == "y");
    CHECK(bytes_of(s).find("nter") == std::string::npos);
}

TEST_CASE("texts are equal only when every byte is") {
    CHECK(base::equal_constant_time("", ""));
    CHECK(base::equal_constant_time("abc", "abc"));
    CHECK_FALSE(base::equal_constant_time("abc", "abd"));
    CHECK_FALSE(base::equal_constant_time("abc", "ab"));
    CHECK_FALSE(base::equal_constant_time(std::string_view("a\0b", 3), std::string_view("a\0c", 3))
    );
}
