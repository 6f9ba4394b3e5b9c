// Small text tools shared by all rooms: ASCII case, trimming, splitting, hex, base64url, "did you
// mean". Pure functions; views returned point into the argument.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::base {

bool iequals(std::string_view a, std::string_view b);                       // ASCII only
std::string lower(std::string_view text);                                   // ASCII only
std::string_view trim(std::string_view text);                               // spaces and tabs
std::vector<std::string_view> split(std::string_view text, char separator); // keeps empty parts
std::string join(std::span<const std::string> parts, std::string_view separator);

// At most `limit` bytes, cut between characters, with "…" when something was cut. For messages that
// repeat what somebody sent.
std::string clip(std::string_view text, std::size_t limit = 200);

std::string hex(std::string_view bytes);
int hex_digit(char c); // its value; -1 when it is none
// %XX as in a URL; nullopt when malformed.
std::optional<std::string> percent_decode(std::string_view text);
std::string base64(std::string_view bytes);    // RFC 4648 §4, padded
std::string base64url(std::string_view bytes); // RFC 4648 §5, no padding
// Canonical input only: no padding, no stray bits, nothing outside the alphabet.
std::optional<std::string> from_base64url(std::string_view text);

// The candidate nearest to `word` (edit distance at most a third of its length, at least 1).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

std::optional<unsigned long long> parse_unsigned(std::string_view digits); // digits only, no sign

// 64-bit FNV-1a: stable over versions and machines; for shortened names, never for security.
std::uint64_t fnv1a(std::string_view text);

} // namespace sluice::base
