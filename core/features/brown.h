// Brown clusters: classes of words that keep as much mutual information of neighbours as can be.
//
// Words come by falling frequency. The first C are a class each; every further one becomes a class for a moment, and
// of the C + 1 classes those two are merged that lose least; in the end C classes are merged down to one, and the
// order of these merges makes bit strings. With c(a, b) bigrams of classes a, b, n(a) their words, and
// t(a) = Σ_b c(a, b) + c(b, a), the information times the number of bigrams is, with F(c) = c log c,
//
//     Σ F(c(a, b)) − Σ t(a) log n(a) + a constant.
//
// So a merge of p and q gains D(c(p, x), c(q, x)) = F(sum) − F − F for each neighbour x of both, and nothing for one
// that only one of them has. The table of these gains is kept up to date: a step changes the rows of classes that are
// neighbours of the new word, or of the smaller class that is merged, O(neighbours · C), not C². See P. Brown et al.,
// Class-based n-gram models of natural language (1992); P. Liang, Semi-supervised learning for natural language (2005).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tagline {

// Bigrams (first, second) of words, each once, with their numbers.
struct Bigrams {
    std::vector<int64_t> counts;  // [V], of words, falling
    std::vector<int32_t> firsts, seconds;  // [M]
    std::vector<int64_t> numbers;  // [M]
};

class Brown {
public:
    Brown(const Bigrams& bigrams, int64_t num_classes);

    // Take the next word, or, where there is none, merge two classes; false once there is one class.
    bool step();

    int64_t steps_done() const { return done_; }
    // Classes by their most frequent words, the more frequent first, in the order of merges.
    const std::vector<std::pair<int32_t, int32_t>>& merges() const { return merges_; }

private:
    double f(int64_t count) const;
    double gain(int64_t one, int64_t other) const;
    void put(int64_t p, int64_t q, int64_t count) {
        bigrams_[size_t(p * width_ + q)] = backwards_[size_t(q * width_ + p)] = count;
        if (p == q) diagonal_[size_t(p)] = count;
    }
    int64_t at(int64_t p, int64_t q) const { return bigrams_[size_t(p * width_ + q)]; }
    double& shared(int64_t p, int64_t q) { return shared_[size_t(p < q ? q * width_ + p : p * width_ + q)]; }

    int32_t root(int32_t word);
    void insert(int32_t word);
    void merge_best();
    void merge(int64_t p, int64_t q);
    void move_gains(int64_t p, int64_t q, const std::vector<int64_t>& others);
    template <typename Count>
    void share(const std::vector<int64_t>& classes, const Count& count);
    template <typename Counts>
    void reshare(const std::vector<int64_t>& others, const Counts& counts);
    void touch(int64_t p);
    void refresh();
    void set_loss(int64_t p, int64_t q, double value);
    void lose(int64_t p, const std::vector<int64_t>& others);
    void name_totals(int64_t p);

    int64_t num_words_, num_classes_, width_;
    int64_t next_ = 0, active_ = 0, done_ = 0;
    std::vector<double> table_;  // F of small counts
    std::vector<int64_t> counts_;
    std::vector<std::vector<std::pair<int32_t, int64_t>>> after_, before_;  // of a word: those not rarer than it
    std::vector<int32_t> parents_, slots_;  // of words: towards the class's first word; of first words: the place
    std::vector<int32_t> names_;  // of places: the class's first word, −1 where there is none
    std::vector<int64_t> sizes_, totals_;  // n, t
    std::vector<int64_t> bigrams_, backwards_;  // [width, width], and the same with rows as columns
    std::vector<int64_t> diagonal_;  // [width], of bigrams
    std::vector<double> shared_, losses_, logs_;  // [width, width], below the diagonal
    std::vector<double> least_, alone_;  // [width]: the least of each row of losses; log n of each class
    std::vector<char> touched_, stale_;  // [width]: whose losses have changed; whose least is to be looked for
    std::vector<std::pair<int32_t, int32_t>> merges_;
};

}  // namespace tagline
