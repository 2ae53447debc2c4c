#include "features/brown.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tagline {

namespace {

constexpr int64_t kTable = 1 << 16;
constexpr double kTie = 1e-7;  // losses that differ by less are equal: the classes of frequent words go first
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Brown::Brown(const Bigrams& bigrams, int64_t num_classes)
    : num_words_(int64_t(bigrams.counts.size())),
      num_classes_(std::min(num_classes, num_words_)),
      width_(num_classes_ + 1),
      table_(size_t(kTable), 0.0),
      counts_(bigrams.counts),
      after_(size_t(num_words_)),
      before_(size_t(num_words_)),
      parents_(size_t(num_words_)),
      slots_(size_t(num_words_), -1),
      names_(size_t(width_), -1),
      sizes_(size_t(width_), 0),
      totals_(size_t(width_), 0),
      bigrams_(size_t(width_ * width_), 0),
      shared_(size_t(width_ * width_), 0.0),
      losses_(size_t(width_ * width_), kNever),
      logs_(size_t(width_ * width_), 0.0) {
    for (int64_t count = 1; count < kTable; ++count) table_[size_t(count)] = double(count) * std::log(double(count));
    for (int64_t word = 0; word < num_words_; ++word) parents_[size_t(word)] = int32_t(word);
    for (size_t k = 0; k < bigrams.firsts.size(); ++k) {
        const int32_t first = bigrams.firsts[k], second = bigrams.seconds[k];
        if (second <= first)
            after_[size_t(first)].push_back({second, bigrams.numbers[k]});
        else
            before_[size_t(second)].push_back({first, bigrams.numbers[k]});
    }
}

double Brown::f(int64_t count) const {
    return count < kTable ? table_[size_t(count)] : double(count) * std::log(double(count));
}

double Brown::gain(int64_t one, int64_t other) const {
    return one && other ? f(one + other) - f(one) - f(other) : 0.0;
}

int32_t Brown::root(int32_t word) {
    while (parents_[size_t(word)] != word) {
        parents_[size_t(word)] = parents_[size_t(parents_[size_t(word)])];
        word = parents_[size_t(word)];
    }
    return word;
}

bool Brown::step() {
    if (next_ < num_words_) {
        insert(int32_t(next_++));
        if (active_ > num_classes_) merge_best();
    } else if (active_ > 1) {
        merge_best();
    }
    ++done_;
    return next_ < num_words_ || active_ > 1;
}

void Brown::insert(int32_t word) {
    const int64_t p = std::find(names_.begin(), names_.end(), -1) - names_.begin();
    names_[size_t(p)] = word;
    slots_[size_t(word)] = int32_t(p);
    sizes_[size_t(p)] = counts_[size_t(word)];
    ++active_;
    std::vector<int64_t> changed;
    std::vector<char> seen(static_cast<size_t>(width_), 0);
    seen[size_t(p)] = 1;
    const auto meet = [&](int64_t x) {
        if (!seen[size_t(x)]) changed.push_back(x);
        seen[size_t(x)] = 1;
    };
    for (const auto& [other, number] : after_[size_t(word)]) {
        const int64_t x = slots_[size_t(root(other))];
        at(p, x) += number;
        totals_[size_t(p)] += number;
        totals_[size_t(x)] += number;
        meet(x);
    }
    for (const auto& [other, number] : before_[size_t(word)]) {
        const int64_t x = slots_[size_t(root(other))];
        at(x, p) += number;
        totals_[size_t(p)] += number;
        totals_[size_t(x)] += number;
        meet(x);
    }
    for (size_t k = 0; k < changed.size(); ++k)
        for (size_t l = 0; l < k; ++l) {
            const int64_t u = changed[k], v = changed[l];
            shared(u, v) += gain(at(u, p), at(v, p)) + gain(at(p, u), at(p, v));
        }
    changed.push_back(p);
    std::vector<int64_t> into, from;  // those before the word, those behind it
    for (const int64_t x : changed) {
        if (at(x, p)) into.push_back(x);
        if (at(p, x)) from.push_back(x);
    }
    std::vector<double> sums(static_cast<size_t>(width_), 0.0);
    for (const int64_t x : into)  // row by row, as bigrams lie in memory
        for (int64_t q = 0; q < width_; ++q) sums[size_t(q)] += gain(at(x, p), at(x, q));
    for (int64_t q = 0; q < width_; ++q) {
        if (names_[size_t(q)] < 0 || q == p) continue;
        for (const int64_t x : from) sums[size_t(q)] += gain(at(p, x), at(q, x));
        shared(p, q) = sums[size_t(q)];
    }
    name_totals(p);
    refresh(changed);
}

// Keep log(n(p) + n(q)) of a class that is new or has grown, with all others.
void Brown::name_totals(int64_t p) {
    for (int64_t q = 0; q < width_; ++q) {
        if (names_[size_t(q)] < 0) continue;
        const double log = std::log(double(q == p ? sizes_[size_t(p)] : sizes_[size_t(p)] + sizes_[size_t(q)]));
        logs_[size_t(p * width_ + q)] = logs_[size_t(q * width_ + p)] = log;
    }
}

// What a merge of two classes loses.
double Brown::loss(int64_t p, int64_t q) {
    const int64_t pp = at(p, p), pq = at(p, q), qp = at(q, p), qq = at(q, q);
    double gained = shared(p, q);
    if (pq || qp) {  // the four pairs among themselves become one
        gained += f(pp + pq + qp + qq) - f(pp) - f(pq) - f(qp) - f(qq);
        gained -= gain(pp, qp) + gain(pq, qq) + gain(pp, pq) + gain(qp, qq);
    } else {
        gained += gain(pp, qq);
    }
    const double tp = double(totals_[size_t(p)]), tq = double(totals_[size_t(q)]);
    return (tp + tq) * logs_[size_t(p * width_ + q)] - tp * logs_[size_t(p * width_ + p)] -
           tq * logs_[size_t(q * width_ + q)] - gained;
}

void Brown::refresh(const std::vector<int64_t>& changed) {
    std::vector<char> done(static_cast<size_t>(width_), 0);
    for (const int64_t p : changed) {
        done[size_t(p)] = 1;
        for (int64_t q = 0; q < width_; ++q)
            if (names_[size_t(q)] >= 0 && !done[size_t(q)])
                losses_[size_t(p < q ? q * width_ + p : p * width_ + q)] = loss(p, q);
    }
}

void Brown::merge_best() {
    std::vector<double> least(static_cast<size_t>(width_), kNever);  // of each row
    double best = kNever;
    for (int64_t p = 0; p < width_; ++p) {
        const double* row = &losses_[size_t(p * width_)];
        double smallest = kNever;
        for (int64_t q = 0; q < p; ++q) smallest = std::min(smallest, row[q]);
        least[size_t(p)] = smallest;
        best = std::min(best, smallest);
    }
    std::pair<int32_t, int32_t> names{std::numeric_limits<int32_t>::max(), 0};
    for (int64_t p = 0; p < width_; ++p) {
        if (names_[size_t(p)] < 0 || least[size_t(p)] > best + kTie) continue;
        for (int64_t q = 0; q < p; ++q) {
            if (names_[size_t(q)] < 0 || losses_[size_t(p * width_ + q)] > best + kTie) continue;
            names = std::min(names, std::pair<int32_t, int32_t>(std::minmax(names_[size_t(p)], names_[size_t(q)])));
        }
    }
    merges_.push_back(names);
    const int64_t p = slots_[size_t(names.first)], q = slots_[size_t(names.second)];
    int64_t neighbours = 0;
    for (int64_t x = 0; x < width_; ++x) {
        neighbours += (at(p, x) != 0) + (at(x, p) != 0);
        neighbours -= (at(q, x) != 0) + (at(x, q) != 0);
    }
    if (neighbours >= 0)
        merge(p, q);
    else
        merge(q, p);
    parents_[size_t(names.second)] = names.first;
}

// Move class q, the one with fewer neighbours, into the place p.
void Brown::merge(int64_t p, int64_t q) {
    std::vector<int64_t> others;
    for (int64_t x = 0; x < width_; ++x)
        if (names_[size_t(x)] >= 0 && x != p && x != q) others.push_back(x);
    move_gains(p, q, others);
    std::vector<int64_t> changed{p};
    for (const int64_t x : others) {
        if (at(q, x) || at(x, q)) changed.push_back(x);
        at(p, x) += at(q, x);
        at(x, p) += at(x, q);
        at(q, x) = at(x, q) = 0;
    }
    at(p, p) += at(p, q) + at(q, p) + at(q, q);
    at(p, q) = at(q, p) = at(q, q) = 0;
    sizes_[size_t(p)] += sizes_[size_t(q)];
    totals_[size_t(p)] += totals_[size_t(q)];
    names_[size_t(p)] = std::min(names_[size_t(p)], names_[size_t(q)]);
    slots_[size_t(names_[size_t(p)])] = int32_t(p);
    names_[size_t(q)] = -1;
    sizes_[size_t(q)] = totals_[size_t(q)] = 0;
    for (int64_t x = 0; x < width_; ++x) losses_[size_t(x < q ? q * width_ + x : x * width_ + q)] = kNever;
    --active_;
    name_totals(p);
    refresh(changed);
}

// Change what pairs share, as if column and row q were already in p; bigrams are still as they were.
void Brown::move_gains(int64_t p, int64_t q, const std::vector<int64_t>& others) {
    const int64_t both = at(p, p) + at(p, q) + at(q, p) + at(q, q);
    std::vector<int64_t> into, from;  // those before q, those behind it
    std::vector<char> seen_into(static_cast<size_t>(width_), 0), seen_from(static_cast<size_t>(width_), 0);
    for (const int64_t x : others) {
        if (at(x, q)) into.push_back(x);
        if (at(q, x)) from.push_back(x);
    }
    std::vector<double> changes(static_cast<size_t>(width_), 0.0);
    for (const int64_t x : into) {
        const int64_t before = at(x, p), after = before + at(x, q);
        for (int64_t v = 0; v < width_; ++v) changes[size_t(v)] += gain(after, at(x, v)) - gain(before, at(x, v));
    }
    for (const int64_t v : others) {
        double change = gain(both, at(v, p) + at(v, q)) - gain(at(p, p), at(v, p)) - gain(at(p, q), at(v, q)) +
                        gain(both, at(p, v) + at(q, v)) - gain(at(p, p), at(p, v)) - gain(at(q, p), at(q, v));
        for (const int64_t x : from) change += gain(at(p, x) + at(q, x), at(v, x)) - gain(at(p, x), at(v, x));
        shared(p, v) += change + changes[size_t(v)];
    }
    for (const int64_t u : into) {
        seen_into[size_t(u)] = 1;
        for (const int64_t v : others)
            if (!seen_into[size_t(v)])
                shared(u, v) += gain(at(u, p) + at(u, q), at(v, p) + at(v, q)) - gain(at(u, p), at(v, p)) -
                                gain(at(u, q), at(v, q));
    }
    for (const int64_t u : from) {
        seen_from[size_t(u)] = 1;
        for (const int64_t v : others)
            if (!seen_from[size_t(v)])
                shared(u, v) += gain(at(p, u) + at(q, u), at(p, v) + at(q, v)) - gain(at(p, u), at(p, v)) -
                                gain(at(q, u), at(q, v));
    }
}

}  // namespace tagline
