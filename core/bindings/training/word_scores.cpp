// Emissions straight from words, as Python sees them.
#include "scoring/word_scores.h"

#include "bindings/module.h"
#include "bindings/features/templates.h"
#include "bindings/features/vocabulary.h"
#include "bindings/training/weights.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace tagline::bindings {

namespace {

constexpr int kCodeBits = 21;  // three codes fit a key

// Column, and the names of functions; None where the words are told.
using DerivationParts = std::tuple<int64_t, std::optional<std::vector<std::string>>>;

// For each column the derivations that its lines look at, the lines, and the row of each.
using AloneParts = std::tuple<std::vector<size_t>, std::vector<SkeletonParts>, std::vector<int>>;

// Derivation, paddings before, paddings after; whether it tells most words apart.
using SourceParts = std::tuple<size_t, nb::tuple, nb::tuple, bool>;

WordDerivation as_derivation(const DerivationParts& parts, size_t columns) {
    const auto& [column, names] = parts;
    if (column < 0 || size_t(column) >= columns)
        throw nb::value_error("derivations: expected numbers of columns, got others");
    WordDerivation derivation{size_t(column), {}, names.has_value()};
    for (const std::string& name : names.value_or(std::vector<std::string>{})) {
        const std::optional<WordStep> step = word_step(name);
        if (!step) throw nb::value_error(("derivations: expected functions that there are, got " + name).c_str());
        derivation.steps.push_back(*step);
    }
    return derivation;
}

WordLines as_lines(const AloneParts& parts, size_t column, const std::vector<WordDerivation>& derivations) {
    const auto& [sources, skeletons, rows] = parts;
    Expansion lines;
    for (const size_t derivation : sources) {
        if (derivation >= derivations.size() || derivations[derivation].column != column)
            throw nb::value_error("alone: expected derivations of the column, got others");
        lines.sources.emplace_back();
    }
    for (const SkeletonParts& skeleton : skeletons) lines.skeletons.push_back(as_skeleton(skeleton, lines.sources));
    if (rows.size() != skeletons.size()) throw nb::value_error("alone: expected a row for each line, got others");
    return WordLines(std::move(lines), sources, rows);
}

// WordScores and what it looks at.
class OwnWordScores {
public:
    OwnWordScores(std::shared_ptr<StateWeights> weights, const std::optional<VocabularyParts>& names, int hash_bits,
                  const std::vector<DerivationParts>& derivations, const std::vector<AloneParts>& alone,
                  const std::vector<SourceParts>& sources, const std::vector<SkeletonParts>& skeletons)
        : weights_(std::move(weights)), names_(names) {
        const Layout& layout = *weights_->layout;
        NumberedWeights known{layout, weights_->memory.table(), std::nullopt, hash_bits};
        if (names_) known.names = as_vocabulary(*names_);
        if (hash_bits < 0 || hash_bits > 30) throw nb::value_error("hash_bits: expected 0 to 30, got something else");
        if ((names_ ? known.names->size : int64_t(1) << hash_bits) > layout.attributes())
            throw nb::value_error("names: expected those of the weights, got more");
        std::vector<WordDerivation> taken;
        for (const DerivationParts& parts : derivations) taken.push_back(as_derivation(parts, alone.size()));
        std::vector<WordLines> lines;
        for (size_t c = 0; c < alone.size(); ++c) lines.push_back(as_lines(alone[c], c, taken));
        Expansion several;
        std::vector<size_t> of_sources;
        for (const auto& [derivation, before, after, fine] : sources) {
            if (derivation >= taken.size()) throw nb::value_error("sources: expected derivations, got others");
            of_sources.push_back(derivation);
            Source& source = several.sources.emplace_back();
            pad(source, before, after);
            source.column = taken[derivation].column;
            source.plain = taken[derivation].native && taken[derivation].steps.empty();
            source.fine = fine;
            source.least_bits = kCodeBits;
        }
        for (const SkeletonParts& skeleton : skeletons)
            several.skeletons.push_back(as_skeleton(skeleton, several.sources));
        scores_.emplace(known, std::move(taken), std::move(lines), std::move(several), std::move(of_sources));
    }

    Result<int32_t> find(size_t column, const nb::tuple& words, const Array& which) const {
        check_column(column);
        const int32_t* indices = checked<int32_t>("which", which, {-1});
        const size_t size = nb::len(words);
        Result<int32_t> numbers = make<int32_t>({which.size()});
        for (size_t k = 0; k < which.size(); ++k) {
            if (indices[k] < 0 || size_t(indices[k]) >= size)
                throw nb::value_error("which: expected indices of words, got others");
            numbers.data()[k] = scores_->find(column, text_of(words[size_t(indices[k])], "words", indices[k]));
        }
        return numbers;
    }

    void add(size_t column, const nb::tuple& names, const nb::list& list) {
        const nb::tuple words(list);
        check_column(column);
        const size_t paddings = size_t(scores_->sums(column).paddings());
        const bool padding = size_t(scores_->sums(column).words()) < paddings;
        const size_t count = padding ? paddings : nb::len(names);
        if (padding && nb::len(names)) throw nb::value_error("names: expected none for paddings, which come first");
        if (scores_->sums(column).words() + int64_t(count) >= int64_t(1) << (kCodeBits - 1))
            throw nb::value_error("names: expected fewer, got too many for their keys");
        std::vector<std::string_view> named;
        for (nb::handle name : names) named.push_back(text_of(name, "names", int64_t(named.size())));
        scores_->add(column, named, count, as_words(column, words, count, padding));
    }

    Result<float> emissions(const std::vector<Array>& numbers, const Array& offsets) {
        if (numbers.size() != scores_->num_columns())
            throw nb::value_error("numbers: expected those of each column, got others");
        const int64_t N = numbers.empty() ? 0 : int64_t(numbers[0].size());
        const int64_t* begins = as_offsets(offsets, N);
        std::vector<const int32_t*> words;
        for (size_t c = 0; c < numbers.size(); ++c) {
            words.push_back(checked<int32_t>("numbers", numbers[c], {N}));
            const uint32_t least = uint32_t(scores_->sums(c).paddings()), most = uint32_t(scores_->sums(c).words());
            if (std::any_of(words[c], words[c] + N, [&](int32_t word) { return uint32_t(word) - least >= most - least; }))
                throw nb::value_error("numbers: expected those of words that were added, got others");
        }
        Result<float> out = make<float>({size_t(N), size_t(scores_->num_labels())});
        ask([&] {
            Outcome outcome;
            outcome.finished = scores_->emissions(words, begins, int64_t(offsets.size()) - 1, out.data(), signalled);
            return outcome;
        });
        return out;
    }

private:
    std::shared_ptr<StateWeights> weights_;
    std::optional<VocabularyParts> names_;
    std::optional<WordScores> scores_;

    void check_column(size_t column) const {
        if (column >= scores_->num_columns()) throw nb::value_error("column: expected one that there is, got another");
    }

    // By derivation; those of other columns, and those that the core makes itself, are empty.
    std::vector<Words> as_words(size_t column, const nb::tuple& words, size_t count,
                                bool padding) const {
        const std::vector<WordDerivation>& derivations = scores_->derivations();
        if (nb::len(words) != derivations.size()) throw nb::value_error("words: expected those of each derivation");
        std::vector<Words> out(derivations.size());
        for (size_t d = 0; d < out.size(); ++d) {
            if (derivations[d].column != column) continue;
            const nb::object of_derivation = words[d];
            if (of_derivation.is_none() && derivations[d].native && !padding) continue;
            if (!nb::isinstance<nb::tuple>(of_derivation) || nb::len(of_derivation) != count)
                throw nb::value_error("words: expected one for each name, got others");
            for (nb::handle word : of_derivation) {
                out[d].emplace_back();
                if (!word.is_none()) out[d].back() = text_of(word, "words", int64_t(out[d].size()) - 1);
            }
        }
        return out;
    }
};

}  // namespace

void bind_word_scores(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<OwnWordScores>(m, "WordScores", "Emissions straight from words, for a template; for one thread.")
        .def(nb::init<std::shared_ptr<StateWeights>, const std::optional<VocabularyParts>&, int,
                      const std::vector<DerivationParts>&, const std::vector<AloneParts>&,
                      const std::vector<SourceParts>&, const std::vector<SkeletonParts>&>(),
             "weights"_a, "names"_a.none(), "hash_bits"_a, "derivations"_a, "alone"_a, "sources"_a, "skeletons"_a)
        .def("find", &OwnWordScores::find, "column"_a, "words"_a, "which"_a, nb::lock_self(),
             "Number words of a column that were added, of a tuple those with these indices [V]; -1 where unknown.")
        .def("add", &OwnWordScores::add, "column"_a, "names"_a, "words"_a, nb::lock_self(),
             "Add words to a column, given as each derivation has them; None where the core derives them from names of "
             "ASCII. Paddings come first, without names.")
        .def("emissions", &OwnWordScores::emissions, "numbers"_a, "offsets"_a, nb::lock_self(),
             "Score sentences, given the numbers [N] of their words in each column: [N, L] float32.");
}

}  // namespace tagline::bindings
