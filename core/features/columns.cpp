// The buffer is cut at blank lines into blocks, which the threads parse, each with tables of its own. Where it is cut
// depends on the text alone. The blocks are then joined in order, so that ids come out in the order of first use.
#include "features/columns.h"

#include "runtime/pool.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tagline {

namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr std::string_view kDocStart = "-DOCSTART-";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

static_assert(std::endian::native == std::endian::little);  // the first byte of eight is the lowest

// The eight bytes from `at` on; 0 in place of those past `end`.
uint64_t eight(const char* at, const char* end) {
    uint64_t bytes = 0;
    if (end - at >= 8)
        std::memcpy(&bytes, at, 8);
    else
        std::memcpy(&bytes, at, size_t(end - at));
    return bytes;
}

// Where the first byte below 33 is among eight; 8 where there is none.
int first_control(uint64_t bytes) {
    const uint64_t tops = (bytes - 0x2121212121212121ull) & ~bytes & 0x8080808080808080ull;
    return std::countr_zero(tops) / 8;
}

// A word, and its first eight bytes: all of it, and 0s, where it is short.
struct Field {
    std::string_view text;
    uint64_t head;

    explicit Field(std::string_view text) : Field(text, eight(text.data(), text.data() + text.size())) {}

    // With eight bytes from its beginning on, whether they are all its own or not.
    Field(std::string_view text, uint64_t bytes) : text(text), head(bytes) {
        if (text.size() < 8) head &= (uint64_t{1} << 8 * text.size()) - 1;
    }

    uint64_t hash() const {
        uint64_t hash = mix(head + text.size());
        for (size_t k = 8; k < text.size(); k += 8) hash = mix(hash ^ eight(&text[k], text.data() + text.size()));
        return hash;
    }

private:
    static uint64_t mix(uint64_t hash) {
        hash *= 0xD6E8FEB86659FD93ull;
        return hash ^ hash >> 32;
    }
};

// A line: fields between runs of blank and tab, up to a newline, with or without a carriage return before it.
struct Line {
    std::vector<Field> fields;
    std::string_view text;
    const char* next = nullptr;  // where the next line begins
    bool binary = false;         // whether it has a zero byte

    void read(const char* begin, const char* end) {
        fields.clear();
        binary = false;
        const char* at = begin;
        for (;;) {
            while (at < end && is_blank(*at)) ++at;
            if (is_end(at, end)) break;
            const char* const first = at;
            const uint64_t head = eight(first, end);
            for (uint64_t bytes = head;; bytes = eight(at, end)) {
                const int control = first_control(bytes);
                at += control;  // at most to the end: 0s are past it
                if (control == 8) continue;
                if (at == end || is_blank(*at) || is_end(at, end)) break;
                binary |= !*at++;
            }
            fields.emplace_back(std::string_view(first, size_t(at - first)), head);
        }
        text = {begin, size_t(at - begin)};
        for (const char mark : {'\r', '\n'}) at += at < end && *at == mark;
        next = at;
    }

private:
    static bool is_end(const char* at, const char* end) {
        return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
    }
};

// Distinct words and their numbers: open addressing, at most half full.
class Interner {
public:
    std::vector<std::string_view> words;

    int32_t number(const Field& field) {
        if (2 * (words.size() + 1) > slots_.size()) grow();
        size_t k = field.hash() & (slots_.size() - 1);
        for (; slots_[k].number >= 0; k = (k + 1) & (slots_.size() - 1))
            if (slots_[k].head == field.head && slots_[k].size == uint32_t(field.text.size()) &&
                (field.text.size() <= 8 || words[size_t(slots_[k].number)] == field.text))
                return slots_[k].number;
        slots_[k] = {field.head, uint32_t(field.text.size()), int32_t(words.size())};
        words.push_back(field.text);
        return slots_[k].number;
    }

private:
    struct Slot {
        uint64_t head = 0;
        uint32_t size = 0;  // of the word, modulo 2^32
        int32_t number = -1;
    };
    std::vector<Slot> slots_;  // none before the first word: a file may have many columns and few lines

    void grow() {
        slots_.assign(std::max(slots_.size() * 2, size_t{16}), {});
        for (size_t n = 0; n < words.size(); ++n) {
            const Field field(words[n]);
            size_t k = field.hash() & (slots_.size() - 1);
            while (slots_[k].number >= 0) k = (k + 1) & (slots_.size() - 1);
            slots_[k] = {field.head, uint32_t(field.text.size()), int32_t(n)};
        }
    }
};

bool is_comment(const Line& line, const ColumnOptions& options) {
    return !options.comment.empty() && line.text.starts_with(options.comment);
}

// The sentences of one block, with lines counted from its own first.
class TextBlock {
public:
    std::vector<int64_t> offsets{0}, lines;
    std::vector<std::vector<int32_t>> ids;
    std::vector<Interner> words;
    std::vector<BrokenLine> broken;
    int64_t total_lines = 0;

    void parse(std::string_view text, int64_t begin, int64_t columns, const ColumnOptions& options) {
        ids.resize(size_t(columns));
        words.resize(size_t(columns));
        const char *at = text.data(), *const end = at + text.size();
        for (; at < end; at = line_.next) {
            line_.read(at, end);
            ++total_lines;
            if (!take(begin + (at - text.data()), columns, options)) return;
        }
        finish();
    }

private:
    Line line_;
    int64_t sentence_line_ = 0;
    bool skipping_ = false;

    // False to stop at a broken line.
    bool take(int64_t begin, int64_t columns, const ColumnOptions& options) {
        const std::vector<Field>& fields = line_.fields;
        if (is_comment(line_, options)) return true;
        if (fields.empty() || (options.docstart && fields[0].text == kDocStart)) {
            finish();
            return true;
        }
        if (line_.binary || int64_t(fields.size()) != columns) {
            if (!skipping_)
                broken.push_back({total_lines, begin, begin + int64_t(line_.text.size()),
                                  line_.binary ? -1 : int64_t(fields.size())});
            skipping_ = true;
            return options.skip_broken;
        }
        if (ids[0].size() == size_t(offsets.back()) && !skipping_) sentence_line_ = total_lines;
        for (size_t c = 0; c < fields.size(); ++c) ids[c].push_back(words[c].number(fields[c]));
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
    std::vector<size_t> offsets{0};
    while (offsets.back() < text.size())
        offsets.push_back(text.size() - offsets.back() <= kBlockBytes
                              ? text.size()
                              : after_blank_line(text, offsets.back() + kBlockBytes));
    return offsets;
}

// The first line with fields, and how many columns it has: 0 where there is none.
BrokenLine first_line(std::string_view text, const ColumnOptions& options) {
    Line line;
    int64_t number = 0;
    const char *at = text.data(), *const end = at + text.size();
    for (; at < end; at = line.next) {
        line.read(at, end);
        ++number;
        if (is_comment(line, options) || line.fields.empty()) continue;
        if (options.docstart && line.fields[0].text == kDocStart) continue;
        const int64_t begin = at - text.data();
        return {number, begin, begin + int64_t(line.text.size()), int64_t(line.fields.size())};
    }
    return {};
}

}  // namespace

bool parse_columns(std::string_view text, const ColumnOptions& options, ColumnTable& table,
                   const Interrupted& interrupted) {
    table.columns = options.columns;
    if (!options.columns) {
        const BrokenLine first = first_line(text, options);
        table.columns = first.columns;
        if (first.columns > options.most) {
            table.broken.push_back(first);
            return true;
        }
    }
    if (table.columns == 0) {
        table.total_lines = std::count(text.begin(), text.end(), '\n') + (!text.empty() && text.back() != '\n');
        return true;
    }
    const std::vector<size_t> offsets = cut(text);
    std::vector<TextBlock> blocks(offsets.size() - 1);
    int stop = 0;
    const bool finished = run(long(blocks.size()), blocks.size() == 1, stop, interrupted, [&](long k) {
        const size_t first = offsets[size_t(k)], last = offsets[size_t(k) + 1];
        blocks[size_t(k)].parse(text.substr(first, last - first), int64_t(first), table.columns, options);
    });
    if (!finished) return false;
    std::vector<Interner> words{size_t(table.columns)};
    table.ids.resize(size_t(table.columns));
    for (TextBlock& block : blocks) {
        const int64_t tokens = table.offsets.back();
        for (size_t b = 1; b < block.offsets.size(); ++b) table.offsets.push_back(tokens + block.offsets[b]);
        for (int64_t line : block.lines) table.lines.push_back(table.total_lines + line);
        for (BrokenLine& broken : block.broken) {
            broken.line += table.total_lines;
            table.broken.push_back(broken);
        }
        for (size_t c = 0; c < words.size(); ++c) {
            if (&block == &blocks[0]) {
                words[c] = std::move(block.words[c]);
                table.ids[c] = std::move(block.ids[c]);
                continue;
            }
            std::vector<int32_t> numbers;
            for (std::string_view word : block.words[c].words) numbers.push_back(words[c].number(Field(word)));
            for (int32_t id : block.ids[c]) table.ids[c].push_back(numbers[size_t(id)]);
        }
        table.total_lines += block.total_lines;
        if (!table.broken.empty() && !options.skip_broken) break;
        block = TextBlock();
    }
    for (Interner& column : words) table.words.push_back(std::move(column.words));
    return true;
}

}  // namespace tagline
