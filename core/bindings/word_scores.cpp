// Emissions straight from words, as Python sees them.
#include "training/word_scores.h"

#include "bindings/module.h"
#include "bindings/templates.h"
#include "bindings/vocabulary.h"
#include "bindings/weights.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace tagline::bindings {

namespace {

constexpr int kCodeBits = 21;  // three codes fit a key

// Column, paddings before, paddings after; whether it has the words as they are, and whether it tells most apart.
using SourceParts = std::tuple<int64_t, nb::tuple, nb::tuple, bool, bool>;

// WordScores and what it looks at.
class OwnWordScores {
public:
    OwnWordScores(std::shared_ptr<StateWeights> weights, const std::optional<VocabularyParts>& names,
                  int hash_bits, const std::vector<std::vector<int>>& rows, const std::vector<SourceParts>& sources,
                  const std::vector<SkeletonParts>& skeletons)
        : weights_(std::move(weights)), names_(names) {
        const Layout& layout = *weights_->layout;
        std::optional<VocabularyView> view;
        if (names_) view = as_vocabulary(*names_);
        if (hash_bits < 0 || hash_bits > 30) throw nb::value_error("hash_bits: expected 0 to 30, got something else");
        if ((view ? view->size : int64_t(1) << hash_bits) > layout.attributes())
            throw nb::value_error("names: expected those of the weights, got more");
        std::vector<WordSums> sums;
        for (const std::vector<int>& of_column : rows) sums.emplace_back(of_column, layout.L(), layout.stride());
        Expansion several;
        std::vector<size_t> columns;
        for (const auto& [column, before, after, plain, fine] : sources) {
            if (column < 0 || column >= int64_t(rows.size()))
                throw nb::value_error("sources: expected numbers of columns, got others");
            columns.push_back(size_t(column));
            pad(several.sources.emplace_back(), before, after);
            several.sources.back().column = size_t(column);
            several.sources.back().plain = plain;
            several.sources.back().fine = fine;
            several.sources.back().least_bits = kCodeBits;
        }
        for (const SkeletonParts& skeleton : skeletons)
            several.skeletons.push_back(as_skeleton(skeleton, several.sources));
        scores_.emplace(layout, weights_->memory.table(), view, hash_bits, std::move(sums), std::move(several),
                        std::move(columns));
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

    void add(size_t column, const nb::tuple& names, const Array& sums, const std::vector<nb::tuple>& words) {
        check_column(column);
        const int64_t count = sums.ndim() ? int64_t(sums.shape(0)) : 0;
        const float* values = checked<float>("sums", sums, {count, scores_->sums(column).rows(), scores_->num_labels()});
        const std::vector<size_t>& columns = scores_->columns();
        if (std::count(columns.begin(), columns.end(), column) != std::ptrdiff_t(words.size()))
            throw nb::value_error("words: expected those of each source of the column, got others");
        const bool paddings = scores_->words(column) < scores_->sums(column).paddings();
        if (int64_t(nb::len(names)) != (paddings ? 0 : count) || (paddings && count != scores_->sums(column).paddings()))
            throw nb::value_error("names: expected one for each word, got others; paddings come first, without names");
        if (scores_->words(column) + count >= int64_t(1) << (kCodeBits - 1))
            throw nb::value_error("words: expected fewer, got too many for their keys");
        std::vector<WordScores::Words> texts;
        for (const nb::tuple& of_source : words) {
            if (int64_t(nb::len(of_source)) != count) throw nb::value_error("words: expected as many as sums");
            WordScores::Words& held = texts.emplace_back();
            int64_t index = 0;
            for (nb::handle word : of_source) {
                held.emplace_back();
                if (!word.is_none()) held.back() = text_of(word, "words", index);
                ++index;
            }
        }
        std::vector<std::string_view> named;
        for (nb::handle name : names) {
            named.push_back(text_of(name, "names", int64_t(named.size())));
            if (scores_->find(column, named.back()) >= 0) throw nb::value_error("names: expected new ones, got others");
        }
        scores_->add(column, named, values, count, texts);
    }

    Result<float> emissions(const std::vector<Array>& numbers, const Array& offsets) {
        if (numbers.size() != scores_->num_columns())
            throw nb::value_error("numbers: expected those of each column, got others");
        const int64_t N = numbers.empty() ? 0 : int64_t(numbers[0].size());
        const int64_t* begins = as_offsets(offsets, N);
        std::vector<const int32_t*> words;
        for (size_t c = 0; c < numbers.size(); ++c) {
            words.push_back(checked<int32_t>("numbers", numbers[c], {N}));
            const uint32_t most = uint32_t(scores_->words(c));
            if (std::any_of(words[c], words[c] + N, [&](int32_t word) { return uint32_t(word) >= most; }))
                throw nb::value_error("numbers: expected those of words that were added, got others");
        }
        Result<float> out = make<float>({size_t(N), size_t(scores_->num_labels())});
        ask([&] {
            Outcome outcome;
            outcome.finished =
                scores_->emissions(words, begins, int64_t(offsets.size()) - 1, out.data(), signalled);
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
};

}  // namespace

void bind_word_scores(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<OwnWordScores>(m, "WordScores", "Emissions straight from words, for a template; for one thread.")
        .def(nb::init<std::shared_ptr<StateWeights>, const std::optional<VocabularyParts>&, int,
                      const std::vector<std::vector<int>>&, const std::vector<SourceParts>&,
                      const std::vector<SkeletonParts>&>(),
             "weights"_a, "names"_a.none(), "hash_bits"_a, "rows"_a, "sources"_a, "skeletons"_a)
        .def("find", &OwnWordScores::find, "column"_a, "words"_a, "which"_a,
             "Number words of a column that were added, of a tuple those with these indices [V]; -1 where unknown.")
        .def("add", &OwnWordScores::add, "column"_a, "names"_a, "sums"_a, "words"_a,
             "Add words to a column: sums [V, rows, L] of the lines that look at them alone, and the words as each "
             "source on the column has them. Paddings come first, without names.")
        .def("emissions", &OwnWordScores::emissions, "numbers"_a, "offsets"_a,
             "Score sentences, given the numbers [N] of their words in each column: [N, L] float32.");
}

}  // namespace tagline::bindings
