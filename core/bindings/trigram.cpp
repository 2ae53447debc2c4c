// The trigram tagger, as Python sees it: what a model has learned is checked once, when its objects are made.
#include "bindings/lexicon.h"
#include "bindings/lists.h"
#include "bindings/module.h"
#include "bindings/training/training.h"
#include "trigram/trigrams.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

namespace tagline::bindings {

namespace {

constexpr int64_t kMostStates = 1 << 16;

struct OwnTrigrams {
    Array table, rows;  // kept alive
    Trigrams model;

    OwnTrigrams(const Array& given_table, const Array& given_rows) : table(given_table), rows(given_rows) {
        const float* scores = checked<float>("table", table, {-1, -1});
        const int64_t R = int64_t(table.shape(0)), width = int64_t(table.shape(1));
        if (width < 2 || width > kMostStates) throw nb::value_error("table: expected 1 to 65535 states, got others");
        const int32_t* numbers = checked<int32_t>("rows", rows, {width, width});
        for (int64_t n = 0; n < width * width; ++n)
            if (numbers[n] < 0 || numbers[n] >= R)
                throw nb::value_error("rows: expected rows of the table, got others");
        for (int64_t n = 0; n < R * width; ++n)
            if (std::isnan(scores[n]) || scores[n] == HUGE_VALF)
                throw nb::value_error("table: expected finite scores or -inf, got others");
        model = {scores, numbers, width - 1};
    }
};

struct OwnCandidates {
    std::vector<int64_t> offsets;
    std::vector<Candidate> lists;
    int64_t num_states, typical = 1;

    OwnCandidates(const Array& given_offsets, const Array& given_states, const Array& given_scores, int64_t S)
        : num_states(S) {
        const int64_t M = int64_t(given_states.size()), W = int64_t(given_offsets.size()) - 1;
        const int64_t* begins = checked<int64_t>("offsets", given_offsets, {-1});
        const int32_t* states = checked<int32_t>("states", given_states, {-1});
        const float* scores = checked<float>("scores", given_scores, {M});
        if (W < 0 || W > kMostNames) throw nb::value_error("offsets: expected 1 to 2147483647 of them, got others");
        rising("offsets", begins, W + 1, M);
        offsets.assign(begins, begins + W + 1);
        lists.reserve(size_t(M));
        double squares = 0;
        for (int64_t word = 0; word < W; ++word) {
            squares += std::pow(double(begins[word + 1] - begins[word]), 2);
            for (int64_t m = begins[word], least = 0; m < begins[word + 1]; ++m) {
                if (states[m] < least || states[m] >= S)
                    throw nb::value_error("states: expected states that ascend in each list, got others");
                if (std::isnan(scores[m]) || scores[m] == HUGE_VALF)
                    throw nb::value_error("scores: expected finite scores or -inf, got others");
                least = states[m] + 1;
                lists.push_back({states[m], scores[m]});
            }
        }
        typical = int64_t(std::ceil(std::sqrt(squares / double(std::max<int64_t>(1, W)))));
    }

    Candidates view() const { return {offsets.data(), lists.data(), int64_t(offsets.size()) - 1, typical}; }
};

// The words of a call, each below the number of lists.
Words as_words(const OwnTrigrams& model, const OwnCandidates& candidates, const Array& ids, const Array& offsets) {
    const Words words{checked<int32_t>("words", ids, {-1}), checked<int64_t>("offsets", offsets, {-1}),
                      int64_t(offsets.size()) - 1};
    if (words.B < 0) throw nb::value_error("offsets: expected at least one number, got none");
    rising("offsets", words.offsets, words.B + 1, int64_t(ids.size()));
    for (size_t n = 0; n < ids.size(); ++n)
        if (words.ids[n] < 0 || words.ids[n] >= candidates.view().W)
            throw nb::value_error("words: expected numbers of lists of candidates, got others");
    if (candidates.num_states != model.model.S) throw nb::value_error("candidates: expected states of the model");
    return words;
}

using Best = std::tuple<Result<int32_t>, Result<double>>;

Best best(const OwnTrigrams& self, const OwnCandidates& candidates, const Array& ids, const Array& offsets) {
    const Words words = as_words(self, candidates, ids, offsets);
    Best out{make<int32_t>({ids.size()}), make<double>({size_t(words.B)})};
    ask([&] {
        return best_states(self.model, candidates.view(), words, std::get<0>(out).data(), std::get<1>(out).data(),
                           signalled);
    });
    return out;
}

using PosteriorArrays = std::tuple<Result<double>, Result<double>, Result<double>>;

PosteriorArrays posterior(const OwnTrigrams& self, const OwnCandidates& candidates, const Array& ids,
                          const Array& offsets, bool allow_no_path) {
    const Words words = as_words(self, candidates, ids, offsets);
    std::vector<int64_t> begins{0};
    for (size_t n = 0; n < ids.size(); ++n) begins.push_back(begins.back() + candidates.view().count(words.ids[n]));
    PosteriorArrays out{make<double>({size_t(words.B)}), make<double>({size_t(words.B)}),
                        make<double>({size_t(begins.back())})};
    const TrigramPosterior want{std::get<0>(out).data(), std::get<1>(out).data(), std::get<2>(out).data(),
                                begins.data()};
    ask([&] { return trigram_posterior(self.model, candidates.view(), words, want, signalled); }, allow_no_path);
    return out;
}

Result<int32_t> sample(const OwnTrigrams& self, const OwnCandidates& candidates, const Array& ids,
                       const Array& offsets, const Array& uniforms) {
    const Words words = as_words(self, candidates, ids, offsets);
    const double* numbers = checked<double>("uniforms", uniforms, {-1, int64_t(ids.size())});
    Result<int32_t> out = make<int32_t>({uniforms.shape(0), ids.size()});
    ask([&] {
        return sample_states(self.model, candidates.view(), words, numbers, int64_t(uniforms.shape(0)), out.data(),
                             signalled);
    });
    return out;
}

std::vector<std::tuple<Result<int64_t>, Result<double>>> k_best(const OwnTrigrams& self,
                                                                const OwnCandidates& candidates, const Array& ids,
                                                                const Array& offsets, int64_t k) {
    const Words words = as_words(self, candidates, ids, offsets);
    if (k < 1) throw nb::value_error("k: expected 1 or more, got less");
    std::vector<Ranked> ranked;
    ask([&] { return rank_states(self.model, candidates.view(), words, k, ranked, signalled); });
    std::vector<std::tuple<Result<int64_t>, Result<double>>> out;
    for (size_t b = 0; b < ranked.size(); ++b) {
        const size_t count = ranked[b].scores.size();
        Result<int64_t> states = make<int64_t>({count, size_t(words.offsets[b + 1] - words.offsets[b])});
        Result<double> scores = make<double>({count});
        std::copy(ranked[b].labels.begin(), ranked[b].labels.end(), states.data());
        std::copy(ranked[b].scores.begin(), ranked[b].scores.end(), scores.data());
        out.emplace_back(states, scores);
        ranked[b] = {};
    }
    return out;
}

// --- lists of strings in, lists of strings out --------------------------------------------------------------------

bool is_row(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// The offsets of sentences, lists or tuples, in a list or tuple; false where they are anything else.
bool read_offsets(PyObject* sentences, std::vector<int64_t>& offsets) {
    const Py_ssize_t B = PySequence_Fast_GET_SIZE(sentences);
    offsets.reserve(size_t(B) + 1);
    offsets.push_back(0);
    for (Py_ssize_t b = 0; b < B; ++b) {
        PyObject* row = PySequence_Fast_GET_ITEM(sentences, b);
        if (!is_row(row)) return false;
        offsets.push_back(offsets.back() + PySequence_Fast_GET_SIZE(row));
    }
    return true;
}

nb::list written(const std::vector<int32_t>& states, const std::vector<int64_t>& offsets, PyObject* labels) {
    const auto list_of = [](int64_t size) {
        PyObject* list = PyList_New(Py_ssize_t(size));
        if (!list) throw nb::python_error();
        return nb::steal<nb::list>(list);
    };
    const int64_t B = int64_t(offsets.size()) - 1;
    nb::list out = list_of(B);
    for (int64_t b = 0; b < B; ++b) {
        nb::list sentence = list_of(offsets[size_t(b) + 1] - offsets[size_t(b)]);
        for (int64_t n = offsets[size_t(b)]; n < offsets[size_t(b) + 1]; ++n) {
            PyObject* label = PyTuple_GET_ITEM(labels, states[size_t(n)]);
            Py_INCREF(label);
            PyList_SET_ITEM(sentence.ptr(), Py_ssize_t(n - offsets[size_t(b)]), label);
        }
        PyList_SET_ITEM(out.ptr(), Py_ssize_t(b), sentence.release().ptr());
    }
    return out;
}

std::optional<nb::list> tag(const OwnTrigrams& self, const OwnCandidates& candidates, OwnLexicon& lexicon,
                            nb::handle given, const nb::tuple& labels) {
    const int64_t S = self.model.S;
    if (candidates.view().W != lexicon.lexicon.size() || candidates.num_states != S || int64_t(nb::len(labels)) != S)
        throw nb::value_error("candidates, labels: expected those of the lexicon and the model, got others");
    std::vector<int64_t> offsets;
    const nb::object sentences = steady_rows(given);
    if (!is_row(sentences.ptr()) || !read_offsets(sentences.ptr(), offsets)) return std::nullopt;
    const int64_t B = int64_t(offsets.size()) - 1;
    std::vector<int32_t> words(size_t(offsets.back())), states(words.size());
    Reader reader(lexicon);
    for (int64_t b = 0; b < B; ++b) {
        PyObject* row = PySequence_Fast_GET_ITEM(sentences.ptr(), Py_ssize_t(b));
        if (!reader.read(PySequence_Fast_ITEMS(row), PySequence_Fast_GET_SIZE(row), words.data() + offsets[size_t(b)]))
            return std::nullopt;
    }
    reader.finish();
    ask([&] {
        return best_states(self.model, candidates.view(), {words.data(), offsets.data(), B}, states.data(), nullptr,
                           signalled);
    });
    return written(states, offsets, labels.ptr());
}

}  // namespace

#define TAGLINE_WORDS_ARGS "candidates"_a, "words"_a, "offsets"_a

void bind_trigram(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<OwnCandidates>(m, "Candidates", "Lists of states that words may have, with scores.")
        .def(nb::init<const Array&, const Array&, const Array&, int64_t>(), "offsets"_a, "states"_a, "scores"_a,
             "num_states"_a);
    nb::class_<OwnLexicon>(m, "Lexicon", "Which list of candidates a word has: its own, or that of its ending.")
        .def(nb::init<const VocabularyParts&, const VocabularyParts&, const VocabularyParts&, int64_t>(), "words"_a,
             "small"_a, "capital"_a, "longest"_a)
        .def("find", &OwnLexicon::find, "words"_a, nb::lock_self(), "Number the lists of words [n].");
    nb::class_<OwnTrigrams>(m, "Trigrams", "log p(c | a, b) = table[rows[a, b], c], and questions about sentences.")
        .def(nb::init<const Array&, const Array&>(), "table"_a, "rows"_a)
        .def("best", best, TAGLINE_WORDS_ARGS, "Find the best states [N] and their scores [B].")
        .def("posterior", posterior, TAGLINE_WORDS_ARGS, "allow_no_path"_a = false,
             "Compute (log Z [B], entropy [B], the probability of each candidate of each token [sum of counts]).")
        .def("sample", sample, TAGLINE_WORDS_ARGS, "uniforms"_a, "Draw states [n, N] by uniform numbers [n, N].")
        .def("k_best", k_best, TAGLINE_WORDS_ARGS, "k"_a,
             "Find the k best labellings of each sentence: [(states [K, T], scores [K])].")
        .def("tag", tag, "candidates"_a, "lexicon"_a.lock(), "sentences"_a.none(), "labels"_a,
             "Tag lists of strings: lists of labels; None where the sentences are anything else.");
}

}  // namespace tagline::bindings
