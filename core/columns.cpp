// The buffer is cut at blank lines into pieces that the threads parse, each with tables of its own; the pieces, fixed
// by the size of the buffer alone, are then joined in order, so that ids come out in the order of first use.
#include "columns.h"

#include "pool.h"

#include <algorithm>
#include <cstring>

namespace tagline {

namespace {

constexpr size_t kPiece = size_t{1} << 20;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr std::string_view kDocStart = "-DOCSTART-";

void split(std::string_view text, std::vector<std::string_view>& fields) {
    fields.clear();
    size_t at = 0;
    for (;;) {
        while (at < text.size() && is_blank(text[at])) ++at;
        if (at == text.size()) return;
        const size_t first = at;
        while (at < text.size() && !is_blank(text[at])) ++at;
        fields.push_back(text.substr(first, at - first));
    }
}

uint64_t hash_of(std::string_view word) {
    uint64_t hash = 0x9E3779B97F4A7C15ull ^ word.size();
    const char* p = word.data();
    size_t left = word.size();
    for (; left >= 8; p += 8, left -= 8) {
        uint64_t chunk;
        std::memcpy(&chunk, p, 8);
        hash = (hash ^ chunk) * 0xD6E8FEB86659FD93ull;
        hash ^= hash >> 32;
    }
    uint64_t tail = 0;
    std::memcpy(&tail, p, left);
    hash = (hash ^ tail) * 0xD6E8FEB86659FD93ull;
    return hash ^ hash >> 29;
}

// Distinct words and their numbers: open addressing, at most half full.
class Interner {
public:
    std::vector<std::string_view> words;

    int32_t number(std::string_view word) {
        if (2 * (words.size() + 1) > slots_.size()) grow();
        size_t k = hash_of(word) & (slots_.size() - 1);
        while (slots_[k] >= 0) {
            if (words[size_t(slots_[k])] == word) return slots_[k];
            k = (k + 1) & (slots_.size() - 1);
        }
        slots_[k] = int32_t(words.size());
        words.push_back(word);
        return slots_[k];
    }

private:
    std::vector<int32_t> slots_ = std::vector<int32_t>(1024, -1);

    void grow() {
        slots_.assign(slots_.size() * 2, -1);
        for (size_t n = 0; n < words.size(); ++n) {
            size_t k = hash_of(words[n]) & (slots_.size() - 1);
            while (slots_[k] >= 0) k = (k + 1) & (slots_.size() - 1);
            slots_[k] = int32_t(n);
        }
    }
};

// One piece: its sentences, with lines counted from its own first.
class Piece {
public:
    std::vector<int64_t> offsets{0}, lines;
    std::vector<std::vector<int32_t>> ids;
    std::vector<Interner> words;
    std::vector<BrokenLine> broken;
    int64_t total_lines = 0;

    void parse(std::string_view text, int64_t begin, int64_t columns, const ColumnOptions& options) {
        ids.resize(size_t(columns));
        words.resize(size_t(columns));
        size_t at = 0;
        while (at < text.size()) {
            size_t end = text.find('\n', at);
            const size_t next = end == std::string_view::npos ? text.size() : end + 1;
            if (end == std::string_view::npos) end = text.size();
            ++total_lines;
            if (!line(text.substr(at, end - at), begin + int64_t(at), columns, options)) return;
            at = next;
        }
        finish();
    }

private:
    std::vector<std::string_view> fields_;
    int64_t sentence_line_ = 0;
    bool skipping_ = false;

    // False to stop at a broken line.
    bool line(std::string_view text, int64_t begin, int64_t columns, const ColumnOptions& options) {
        if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
        if (!options.comment.empty() && text.substr(0, options.comment.size()) == options.comment) return true;
        split(text, fields_);
        if (fields_.empty()) {
            finish();
            return true;
        }
        if (options.docstart && fields_[0] == kDocStart) {
            finish();
            return true;
        }
        const bool binary = std::memchr(text.data(), 0, text.size()) != nullptr;
        if (binary || int64_t(fields_.size()) != columns) {
            if (!skipping_)
                broken.push_back({total_lines, begin, begin + int64_t(text.size()),
                                  binary ? -1 : int64_t(fields_.size())});
            skipping_ = true;
            return options.skip_broken;
        }
        if (ids[0].size() == size_t(offsets.back()) && !skipping_) sentence_line_ = total_lines;
        for (size_t c = 0; c < fields_.size(); ++c) ids[c].push_back(words[c].number(fields_[c]));
        return true;
    }

    void finish() {
        if (skipping_)
            for (auto& column : ids) column.resize(size_t(offsets.back()));
        else if (int64_t(ids[0].size()) > offsets.back()) {
            offsets.push_back(int64_t(ids[0].size()));
            lines.push_back(sentence_line_);
        }
        skipping_ = false;
    }
};

// The end of the first blank line at or after `from`, or the end of the text.
size_t after_blank_line(std::string_view text, size_t from) {
    size_t at = text.find('\n', from);
    while (at != std::string_view::npos) {
        size_t next = at + 1;
        while (next < text.size() && (is_blank(text[next]) || text[next] == '\r')) ++next;
        if (next < text.size() && text[next] == '\n') return next + 1;
        at = text.find('\n', at + 1);
    }
    return text.size();
}

std::vector<size_t> cut(std::string_view text) {
    std::vector<size_t> bounds{0};
    while (bounds.back() < text.size())
        bounds.push_back(text.size() - bounds.back() <= kPiece ? text.size()
                                                              : after_blank_line(text, bounds.back() + kPiece));
    return bounds;
}

// How many columns the first line with fields has; 0 where there is none.
int64_t columns_of(std::string_view text, const ColumnOptions& options) {
    std::vector<std::string_view> fields;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!options.comment.empty() && line.substr(0, options.comment.size()) == options.comment) continue;
        split(line, fields);
        if (!fields.empty() && !(options.docstart && fields[0] == kDocStart)) return int64_t(fields.size());
    }
    return 0;
}

}  // namespace

bool parse_columns(std::string_view text, const ColumnOptions& options, ColumnTable& table,
                   const Interrupted& interrupted) {
    table.columns = options.columns ? options.columns : columns_of(text, options);
    if (table.columns == 0) {
        table.total_lines = std::count(text.begin(), text.end(), '\n') + (!text.empty() && text.back() != '\n');
        return true;
    }
    const std::vector<size_t> bounds = cut(text);
    std::vector<Piece> pieces(bounds.size() - 1);
    int stop = 0;
    const bool finished = run(long(pieces.size()), pieces.size() == 1, stop, interrupted, [&](long k) {
        const size_t first = bounds[size_t(k)], last = bounds[size_t(k) + 1];
        pieces[size_t(k)].parse(text.substr(first, last - first), int64_t(first), table.columns, options);
    });
    if (!finished) return false;
    std::vector<Interner> words{size_t(table.columns)};
    table.ids.resize(size_t(table.columns));
    for (Piece& piece : pieces) {
        const int64_t tokens = table.offsets.back();
        for (size_t b = 1; b < piece.offsets.size(); ++b) table.offsets.push_back(tokens + piece.offsets[b]);
        for (int64_t line : piece.lines) table.lines.push_back(table.total_lines + line);
        for (BrokenLine& broken : piece.broken) {
            broken.line += table.total_lines;
            table.broken.push_back(broken);
        }
        for (size_t c = 0; c < words.size(); ++c) {
            std::vector<int32_t> numbers;
            for (std::string_view word : piece.words[c].words) numbers.push_back(words[c].number(word));
            for (int32_t id : piece.ids[c]) table.ids[c].push_back(numbers[size_t(id)]);
        }
        table.total_lines += piece.total_lines;
        if (!table.broken.empty() && !options.skip_broken) break;
        piece = Piece();
    }
    for (Interner& column : words) table.words.push_back(std::move(column.words));
    return true;
}

}  // namespace tagline
