// What a service answers about texts and sentences, as JSON: an object an item.
#include "bindings/text/json.h"
#include "bindings/module.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace tagline::bindings {

namespace {

// The texts [I]; characters of each sentence in its text [B, 2]; those of each token in its sentence [N, 2]; whether the
// offsets of each text are told in UTF-16 units [I].
using TextParts = std::tuple<nb::list, Array, Array, Array>;

// Where sentences and tokens stand in the texts they come from.
struct Texts {
    nb::tuple texts;
    const int64_t *bounds, *places;
    const bool* in_utf16;
    std::vector<int64_t> units;  // of the present text, before each character; empty where they are the characters

    Texts(const TextParts& parts, int64_t I, int64_t B, int64_t N)
        : texts(std::get<0>(parts)),
          bounds(checked<int64_t>("bounds", std::get<1>(parts), {B, 2})),
          places(checked<int64_t>("places", std::get<2>(parts), {N, 2})),
          in_utf16(checked<bool>("in_utf16", std::get<3>(parts), {I})) {
        if (int64_t(nb::len(texts)) != I) throw nb::value_error("texts: expected one for each item, got more or fewer");
    }

    PyObject* at(int64_t i) const { return PyTuple_GET_ITEM(texts.ptr(), i); }

    // Turn to the text of an item, whose sentences and tokens must stand in it.
    PyObject* turn_to(int64_t i, const int64_t* items, const int64_t* offsets) {
        PyObject* text = at(i);
        refuse_others(text, "texts", i);
        const auto is_within = [](const int64_t* place, int64_t size) {
            return 0 <= place[0] && place[0] <= place[1] && place[1] <= size;
        };
        for (int64_t b = items[i]; b < items[i + 1]; ++b) {
            const int64_t* bound = bounds + 2 * b;
            bool fits = is_within(bound, int64_t(PyUnicode_GET_LENGTH(text)));
            for (int64_t n = offsets[b]; n < offsets[b + 1]; ++n)
                fits = fits && is_within(places + 2 * n, bound[1] - bound[0]);
            if (!fits) throw nb::value_error("places: expected characters of the texts, got others");
        }
        units.clear();
        if (in_utf16[i] && PyUnicode_KIND(text) == PyUnicode_4BYTE_KIND) {
            with_characters(text, [&](const auto* characters, int64_t size) {
                units.resize(size_t(size) + 1);
                for (int64_t c = 0; c < size; ++c) units[c + 1] = units[c] + (uint32_t(characters[c]) > 0xFFFF ? 2 : 1);
            });
        }
        return text;
    }

    void append_offsets(std::string& out, int64_t start, int64_t end) const {
        out += "\"start\":";
        append_number(out, units.empty() ? start : units[size_t(start)]);
        out += ",\"end\":";
        append_number(out, units.empty() ? end : units[size_t(end)]);
    }
};

// Probabilities that are no numbers have no place in JSON.
void append_probability(std::string& out, double value) {
    if (std::isfinite(value))
        append_number(out, value);
    else
        out += "null";
}

struct Answers {
    const int64_t *items, *offsets, *labels;
    const int32_t* ids;
    std::vector<std::string> words, names;
    const double* marginals;  // [N, L], or none
    std::optional<Texts> texts;
    std::optional<Spans> spans;
    std::optional<nb::tuple> more;  // members of the object of each sentence, as bytes
    std::string out;

    void append_token(int64_t b, int64_t n) {
        out += "{\"text\":";
        out += words[size_t(ids[n])];
        out += ",\"label\":";
        out += names[size_t(labels[n])];
        if (texts) {
            const int64_t base = texts->bounds[2 * b];
            out += ',';
            texts->append_offsets(out, base + texts->places[2 * n], base + texts->places[2 * n + 1]);
        }
        if (marginals) {
            const int64_t L = int64_t(names.size());
            const double* chances = marginals + L * n;
            out += ",\"probability\":";
            append_probability(out, chances[labels[n]]);
            out += ",\"marginals\":";
            append_list(out, 0, L, ",", [&](int64_t l) { append_probability(out, chances[l]); });
        }
        out += '}';
    }

    void append_sentence(int64_t b) {
        out += '{';
        if (texts) {
            texts->append_offsets(out, texts->bounds[2 * b], texts->bounds[2 * b + 1]);
            out += ',';
        }
        out += "\"tokens\":";
        append_list(out, offsets[b], offsets[b + 1], ",", [&](int64_t n) { append_token(b, n); });
        if (more) {
            const nb::bytes members = nb::cast<nb::bytes>((*more)[size_t(b)]);
            if (members.size()) out += ',';
            out.append(members.c_str(), members.size());
        }
        out += '}';
    }

    void append_entity(int64_t m, int64_t first, PyObject* text) {
        const int64_t b = spans->sentence[m], start = spans->start[m], end = spans->end[m];
        out += "{\"type\":";
        out += spans->names[size_t(spans->kind[m])];
        out += ",\"probability\":";
        append_probability(out, spans->probability[m]);
        out += ",\"sentence\":";
        append_number(out, b - first);
        out += ",\"tokens\":[";
        append_number(out, start);
        out += ',';
        append_number(out, end);
        out += ']';
        if (texts) {
            const int64_t base = texts->bounds[2 * b], n = offsets[b];
            const int64_t left = base + texts->places[2 * (n + start)], right = base + texts->places[2 * (n + end) - 1];
            out += ",\"text\":";
            append_string(out, text, left, right);
            out += ',';
            texts->append_offsets(out, left, right);
        }
        out += '}';
    }

    // Write item i, whose entities begin at m; return where they end.
    int64_t append_item(int64_t i, int64_t m) {
        const int64_t first = items[i], last = items[i + 1];
        PyObject* text = nullptr;
        out += '{';
        if (texts) {
            text = texts->turn_to(i, items, offsets);
            out += "\"text\":";
            append_string(out, text);
            out += ',';
        }
        out += "\"sentences\":";
        append_list(out, first, last, ",", [&](int64_t b) { append_sentence(b); });
        if (spans) {
            const int64_t from = m;
            for (int64_t b = first; b < last; ++b) m = spans->last_of(m, b);
            out += ",\"entities\":";
            append_list(out, from, m, ",", [&](int64_t k) { append_entity(k, first, text); });
        }
        out += '}';
        return m;
    }
};

nb::list answer_items(const Array& items, const Array& offsets, const nb::tuple& words, const Array& ids,
                      const nb::tuple& names, const Array& labels, const std::optional<TextParts>& texts,
                      const std::optional<SpanParts>& spans, const std::optional<Array>& marginals,
                      const std::optional<nb::list>& more) try {
    const int64_t I = int64_t(items.size()) - 1, B = int64_t(offsets.size()) - 1, N = int64_t(ids.size());
    Answers answers{.items = as_offsets(items, B),
                    .offsets = as_offsets(offsets, N),
                    .labels = nullptr,
                    .ids = nullptr,
                    .words = as_json(words, "words"),
                    .names = as_json(names, "names"),
                    .marginals = nullptr,
                    .texts = {},
                    .spans = {},
                    .more = {},
                    .out = {}};
    const int64_t L = int64_t(answers.names.size());
    answers.ids = word_numbers(ids, int64_t(answers.words.size()));
    answers.labels = numbers_below("labels", labels, N, L);
    if (marginals) answers.marginals = checked<double>("marginals", *marginals, {N, L});
    if (texts) answers.texts.emplace(*texts, I, B, N);
    if (spans) answers.spans.emplace(*spans, B, answers.offsets);
    if (more) answers.more.emplace(*more);
    if (more && int64_t(nb::len(*answers.more)) != B)
        throw nb::value_error("more: expected one for each sentence, got more or fewer");
    nb::list result;
    int64_t m = 0;
    for (int64_t i = 0; i < I; ++i) {
        answers.out.clear();
        m = answers.append_item(i, m);
        result.append(nb::bytes(answers.out.data(), answers.out.size()));
    }
    return result;
} catch (const LoneSurrogate&) {
    throw nb::value_error("texts: expected characters that UTF-8 has, got half of a surrogate pair");
}

}  // namespace

void bind_answers(nb::module_& m) {
    using namespace nb::literals;
    m.def("answer_items", answer_items, "items"_a, "offsets"_a, "words"_a, "ids"_a, "names"_a, "labels"_a,
          "texts"_a.none(), "spans"_a.none(), "marginals"_a.none(), "more"_a.none(),
          "Write what is said of each item of a request: a JSON object each, as bytes.");
}

}  // namespace tagline::bindings
