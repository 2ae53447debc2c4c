// Vocabularies and the expansion of templates, as Python sees them.
#include "bindings/module.h"
#include "bindings/features/templates.h"
#include "bindings/features/vocabulary.h"
#include "features/expansion/expansion.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>

namespace tagline::bindings {

VocabularyView as_vocabulary(const VocabularyParts& parts) {
    const auto& [bytes, offsets, slots, marks] = parts;
    VocabularyView view;
    view.bytes = reinterpret_cast<const char*>(checked<uint8_t>("bytes", bytes, {-1}));
    view.offsets = checked<int64_t>("offsets", offsets, {-1});
    view.slots = checked<uint32_t>("slots", slots, {-1});
    view.marks = checked<uint16_t>("marks", marks, {int64_t(slots.size())});
    view.size = int64_t(offsets.size()) - 1;
    view.groups = slots.size() / kGroupPlaces;
    if (view.size < 0 || view.offsets[0] != 0 || view.offsets[view.size] != int64_t(bytes.size()))
        throw nb::value_error("offsets: expected to run from 0 to the number of bytes, got something else");
    if (!view.groups || slots.size() % kGroupPlaces)
        throw nb::value_error("slots: expected a multiple of 8 places, got something else");
    return view;
}

VocabularyResult as_result(VocabularyArrays&& arrays) {
    return {adopt<uint8_t>(std::move(arrays.bytes)), adopt(std::move(arrays.offsets)),
            adopt(std::move(arrays.slots)), adopt(std::move(arrays.marks))};
}

std::string_view text_of(nb::handle string, const char* name, int64_t index) {
    if (!PyUnicode_Check(string.ptr()))
        throw nb::type_error((std::string(name) + "[" + std::to_string(index) + "]: expected a string, got " +
                              Py_TYPE(string.ptr())->tp_name)
                                 .c_str());
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    if (!data) throw nb::python_error();
    return {data, size_t(size)};
}

Skeleton as_skeleton(const SkeletonParts& parts, const std::vector<Source>& sources) {
    Skeleton skeleton;
    skeleton.literals = std::get<0>(parts);
    for (const auto& [source, row] : std::get<1>(parts)) {
        if (source < 0 || source >= int(sources.size()) || -row > sources[size_t(source)].before ||
            row > sources[size_t(source)].after)
            throw nb::value_error("macros: expected a source and a row that has padding, got others");
        skeleton.macros.push_back({source, row});
    }
    if (skeleton.literals.size() != skeleton.macros.size() + 1)
        throw nb::value_error("literals: expected one more than macros, got others");
    return skeleton;
}

void pad(Source& source, const nb::tuple& before, const nb::tuple& after) {
    source.before = int(nb::len(before));
    source.after = int(nb::len(after));
    source.pieces.emplace_back();
    for (const nb::tuple* paddings : {&before, &after})
        for (nb::handle padding : *paddings) source.pieces.push_back({{}, text_of(padding, "paddings", 0)});
}

namespace {

VocabularyResult intern_names(nb::sequence names, const std::optional<VocabularyParts>& before, int64_t most) {
    Names interned(most);
    if (before) interned = Names(as_vocabulary(*before), most);
    int64_t index = 0;
    for (nb::handle name : names) interned.intern(text_of(name, "names", index++));
    return as_result(interned.finish());
}

Result<int32_t> find_names(const VocabularyParts& vocabulary, nb::sequence sequence) {
    const VocabularyView view = as_vocabulary(vocabulary);
    const nb::tuple names(sequence);
    Result<int32_t> ids = make<int32_t>({nb::len(names)});
    int64_t index = 0;
    for (nb::handle name : names) {
        ids.data()[index] = view.find(text_of(name, "names", index));
        ++index;
    }
    return ids;
}

VocabularyResult take_names(const VocabularyParts& vocabulary, const Array& ids) {
    const VocabularyView view = as_vocabulary(vocabulary);
    const int64_t* chosen = checked<int64_t>("ids", ids, {-1});
    for (size_t k = 0; k < ids.size(); ++k)
        if (chosen[k] < 0 || chosen[k] >= view.size)
            throw nb::value_error(("ids[" + std::to_string(k) + "]: expected 0 to " + std::to_string(view.size - 1) +
                                   ", got " + std::to_string(chosen[k]))
                                      .c_str());
    return as_result(tagline::take_names(view, {chosen, ids.size()}));
}

// Words (None: no attribute), ids, paddings before, paddings after; whether the words are known to differ or need not
// be told apart.
using SourceParts = std::tuple<nb::tuple, Array, nb::tuple, nb::tuple, bool>;

Source as_source(const SourceParts& parts, int64_t tokens) {
    const auto& [words, ids, before, after, distinct] = parts;
    Source source;
    source.ids = checked<int32_t>("ids", ids, {tokens});
    int32_t least = 0, most = -1;
    for (int64_t n = 0; n < tokens; ++n) {
        least = std::min(least, source.ids[n]);
        most = std::max(most, source.ids[n]);
    }
    if (least < 0 || most >= int64_t(nb::len(words)))
        throw nb::value_error("ids: expected numbers of words, got others");
    pad(source, before, after);
    Names seen;
    int64_t index = 0;
    for (nb::handle word : words) {
        uint32_t code = 0;
        if (!word.is_none()) {
            const std::string_view text = text_of(word, "words", index);
            code = distinct ? uint32_t(source.pieces.size()) : source.first_word() + uint32_t(seen.intern(text));
            if (code == source.pieces.size()) source.pieces.push_back({{}, text});
        }
        source.gaps |= !code;
        source.codes.push_back(code);
        ++index;
    }
    if (distinct && !source.gaps) source.codes.clear();
    return source;
}

using Expanded = std::tuple<Result<int64_t>, Result<int32_t>, std::optional<VocabularyResult>>;

Expanded expand(const std::vector<SourceParts>& sources, const std::vector<SkeletonParts>& skeletons,
                const Array& bounds, bool after_first, const std::optional<VocabularyParts>& names, int hash_bits,
                int64_t min_count, int64_t most) {
    Expansion expansion;
    expansion.offsets = checked<int64_t>("bounds", bounds, {-1});
    expansion.B = int64_t(bounds.size()) - 1;
    if (expansion.B < 0 || expansion.offsets[0] != 0)
        throw nb::value_error("bounds: expected to begin at 0, got something else");
    for (int64_t b = 0; b < expansion.B; ++b)
        if (expansion.offsets[b + 1] < expansion.offsets[b]) throw nb::value_error("bounds: expected no fall, got one");
    if (hash_bits < 0 || hash_bits > 30) throw nb::value_error("hash_bits: expected 0 to 30, got something else");
    expansion.after_first = after_first;
    for (const SourceParts& source : sources) expansion.sources.push_back(as_source(source, expansion.tokens()));
    for (const SkeletonParts& skeleton : skeletons)
        expansion.skeletons.push_back(as_skeleton(skeleton, expansion.sources));
    std::optional<VocabularyView> known;
    if (names) known = as_vocabulary(*names);
    ExpandedRows rows;
    VocabularyArrays arrays;
    ask([&] {
        Outcome outcome;
        expansion.prepare();
        outcome.finished = known       ? expand_known(expansion, *known, rows, signalled)
                           : hash_bits ? expand_hashed(expansion, hash_bits, rows, signalled)
                                       : expand_new(expansion, min_count, most, rows, arrays, signalled);
        return outcome;
    });
    const size_t count = size_t(rows.offsets.back());
    using Ids = decltype(rows.ids);
    auto memory = std::make_unique<Ids>(std::move(rows.ids));
    int32_t* ids = memory->get();
    nb::capsule owner(memory.release(), [](void* p) noexcept { delete static_cast<Ids*>(p); });
    Result<int32_t> numbers(ids, {count}, owner);
    Result<int64_t> offsets = adopt(std::move(rows.offsets));
    if (known || hash_bits) return {offsets, numbers, std::nullopt};
    return {offsets, numbers, as_result(std::move(arrays))};
}

const char* check_vocabulary(const VocabularyParts& vocabulary) {
    return tagline::check_vocabulary(as_vocabulary(vocabulary), int64_t(std::get<0>(vocabulary).size()));
}

}  // namespace

void bind_features(nb::module_& m) {
    using namespace nb::literals;
    m.def("intern_names", intern_names, "names"_a, "before"_a.none(), "most"_a = kMostNames,
          "Number strings in the order of first use, after those of another vocabulary: its four arrays.");
    m.def("find_names", find_names, "vocabulary"_a, "names"_a, "Look up strings: ids [n], -1 where unknown.");
    m.def("take_names", take_names, "vocabulary"_a, "ids"_a, "Keep the names with these ids, renumbered.");
    m.def("check_vocabulary", check_vocabulary, "vocabulary"_a,
          "Say what is wrong with arrays from a file; None where nothing is.");
    m.def("expand", expand, "sources"_a, "skeletons"_a, "bounds"_a, "after_first"_a, "names"_a.none(), "hash_bits"_a,
          "min_count"_a, "most"_a,
          "Expand templates over columns: (offsets [N + 1], ids [M], the four arrays of a new vocabulary). Sources are "
          "(words, ids [N], paddings before, paddings after, whether the words are distinct), skeletons (literals, "
          "(source, row) of each macro between them). With names they are looked up, with hash_bits hashed, and no "
          "vocabulary is made.");
}

}  // namespace tagline::bindings
