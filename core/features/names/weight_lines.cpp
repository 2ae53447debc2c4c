#include "features/names/weight_lines.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace tagline {

namespace {

constexpr size_t kLongestLine = 64;  // 20 digits, a sign, 0x, 16 digits, an exponent of up to 4

// Read a number behind its sign; null where there is none.
const char* read_size(const char* at, const char* end, double& size) {
#if !defined(__cpp_lib_to_chars)  // clang's library before version 20 has no from_chars for these
    if (at == end || *at == '-' || *at == '+' || std::isspace(static_cast<unsigned char>(*at))) return nullptr;
    const std::string number(at, std::find(at, end, '\n'));
    char* stop = nullptr;
    size = std::strtod(number.c_str(), &stop);
    const bool read = stop != number.c_str() && std::isfinite(size) == (number.find_first_of("nN") == std::string::npos);
    return read ? at + (stop - number.c_str()) : nullptr;
#else
    const bool hexadecimal = end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    if (hexadecimal) at += 2;
    if (at == end || *at == '-') return nullptr;
    const auto format = hexadecimal ? std::chars_format::hex : std::chars_format::general;
    const auto [behind, error] = std::from_chars(at, end, size, format);
    return error == std::errc() ? behind : nullptr;
#endif
}

}  // namespace

bool read_weight_lines(std::string_view text, WeightLines& lines) {
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        int64_t feature = 0;
        const auto [behind, error] = std::from_chars(at, end, feature);
        if (error != std::errc() || behind == end || *behind != '=') return false;
        at = behind + 1;
        const bool negative = at != end && *at == '-';
        double size = 0.0;
        at = read_size(at + negative, end, size);
        if (!at || at == end || *at != '\n') return false;
        ++at;
        lines.features.push_back(feature);
        lines.weights.push_back(negative ? -size : size);
    }
    return true;
}

std::string write_weight_lines(std::span<const int64_t> features, std::span<const double> weights) {
    std::string text;
    text.reserve(features.size() * 32);
    char line[kLongestLine];
    for (size_t k = 0; k < features.size(); ++k) {
        char* at = std::to_chars(line, line + kLongestLine, features[k]).ptr;
        *at++ = '=';
        if (std::signbit(weights[k])) *at++ = '-';
        *at++ = '0';
        *at++ = 'x';
        at = std::to_chars(at, line + kLongestLine, std::abs(weights[k]), std::chars_format::hex).ptr;
        *at++ = '\n';
        text.append(line, at);
    }
    return text;
}

}  // namespace tagline
