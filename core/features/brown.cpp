#include "features/brown.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tagline {

namespace {

constexpr int64_t kTable = 1 << 16;
constexpr double kTie = 1e-7;  // losses that differ by less are equal: the classes of frequent words go first
constexpr double kNever = std::numeric_limits<double>::infinity();

// How often a class has two neighbours, and a number that belongs to it.
struct Held {
    int64_t place, p, q;
    double f;
};

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
      backwards_(size_t(width_ * width_), 0),
      diagonal_(size_t(width_), 0),
      shared_(size_t(width_ * width_), 0.0),
      losses_(size_t(width_ * width_), kNever),
      logs_(size_t(width_ * width_), 0.0),
      least_(size_t(width_), kNever),
      alone_(size_t(width_), 0.0),
      touched_(size_t(width_), 0),
      stale_(size_t(width_), 0) {
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
    return f(one + other) - f(one) - f(other);  // exactly 0 where one of them is, for F(0) = 0
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
    for (const auto& [other, number] : after_[size_t(word)]) {
        const int64_t x = slots_[size_t(root(other))];
        put(p, x, at(p, x) + number);
        totals_[size_t(p)] += number;
        totals_[size_t(x)] += number;
    }
    for (const auto& [other, number] : before_[size_t(word)]) {
        const int64_t x = slots_[size_t(root(other))];
        put(x, p, at(x, p) + number);
        totals_[size_t(p)] += number;
        totals_[size_t(x)] += number;
    }
    std::vector<int64_t> into, from;  // those before the word, those behind it
    for (int64_t x = 0; x < width_; ++x) {
        if (x == p) continue;
        if (at(x, p)) into.push_back(x);
        if (at(p, x)) from.push_back(x);
        if (at(x, p) || at(p, x)) touch(x);
    }
    touch(p);
    share(into, [&](int64_t x) { return at(x, p); });
    share(from, [&](int64_t x) { return at(p, x); });
    if (at(p, p)) {
        into.push_back(p);
        from.push_back(p);
    }
    std::vector<double> sums(static_cast<size_t>(width_), 0.0);
    for (const int64_t x : into) {  // row by row, as bigrams lie in memory
        const int64_t count = at(x, p);
        const double own = f(count);
        const int64_t* row = &bigrams_[size_t(x * width_)];
        for (int64_t q = 0; q < width_; ++q)
            if (row[q]) sums[size_t(q)] += f(count + row[q]) - own - f(row[q]);
    }
    std::vector<Held> behind;
    for (const int64_t x : from) behind.push_back({x, at(p, x), 0, f(at(p, x))});
    for (int64_t q = 0; q < width_; ++q) {
        if (names_[size_t(q)] < 0 || q == p) continue;
        const int64_t* row = &bigrams_[size_t(q * width_)];
        double sum = sums[size_t(q)];
        for (const Held& x : behind)
            if (const int64_t count = row[x.place]) sum += f(x.p + count) - x.f - f(count);
        shared(p, q) = sum;
    }
    name_totals(p);
}

// Add what all pairs of some classes gain by a neighbour that each of them has so often.
template <typename Count>
void Brown::share(const std::vector<int64_t>& classes, const Count& count) {
    std::vector<int64_t> counts;
    std::vector<double> own;
    for (const int64_t x : classes) {
        counts.push_back(count(x));
        own.push_back(f(counts.back()));
    }
    for (size_t k = 0; k < classes.size(); ++k)  // ascending: row k has all before it
        for (size_t l = 0; l < k; ++l)
            shared_[size_t(classes[k] * width_ + classes[l])] += f(counts[k] + counts[l]) - own[k] - own[l];
}

// Note that losses of a class are no longer what they were.
void Brown::touch(int64_t p) { touched_[size_t(p)] = 1; }

// Keep log(n(p) + n(q)) of a class that is new or has grown, with all others.
void Brown::name_totals(int64_t p) {
    for (int64_t q = 0; q < width_; ++q) {
        if (names_[size_t(q)] < 0) continue;
        const double log = std::log(double(q == p ? sizes_[size_t(p)] : sizes_[size_t(p)] + sizes_[size_t(q)]));
        logs_[size_t(p * width_ + q)] = logs_[size_t(q * width_ + p)] = log;
    }
    alone_[size_t(p)] = logs_[size_t(p * width_ + p)];
}

// What merges of a class with those before it lose: all of them, or those with some; rows of tables are read in order.
void Brown::lose(int64_t p, const std::vector<int64_t>& others) {
    const size_t row = size_t(p * width_);
    const int64_t *out = &bigrams_[row], *in = &backwards_[row], pp = diagonal_[size_t(p)];
    const double *shared = &shared_[row], *logs = &logs_[row];
    const double tp = double(totals_[size_t(p)]), own = tp * logs[p], fpp = f(pp);
    for (const int64_t q : others) {
        if (q >= p) break;
        const int64_t pq = out[q], qp = in[q], qq = diagonal_[size_t(q)];
        double gained = shared[q];
        if (pq || qp) {  // the four pairs among themselves become one, and p and q are no neighbours of both
            gained += f(pp + pq + qp + qq) + fpp + f(pq) + f(qp) + f(qq);
            gained -= f(pp + qp) + f(pq + qq) + f(pp + pq) + f(qp + qq);
        } else if (pp && qq) {
            gained += f(pp + qq) - fpp - f(qq);
        }
        const double tq = double(totals_[size_t(q)]);
        set_loss(p, q, (tp + tq) * logs[q] - own - tq * alone_[size_t(q)] - gained);
    }
}

// Bring the losses of classes that were touched up to date, and the least of each row.
void Brown::refresh() {
    std::vector<int64_t> all, touched;
    for (int64_t p = 0; p < width_; ++p) {
        if (names_[size_t(p)] < 0) continue;
        all.push_back(p);
        if (touched_[size_t(p)]) touched.push_back(p);
    }
    for (const int64_t p : all) lose(p, touched_[size_t(p)] ? all : touched);
    std::fill(touched_.begin(), touched_.end(), char(0));
    for (int64_t p = 0; p < width_; ++p) {
        if (!stale_[size_t(p)]) continue;
        const double* row = &losses_[size_t(p * width_)];
        double least[4] = {kNever, kNever, kNever, kNever};  // four at a time: one waits for no other
        int64_t q = 0;
        for (; q + 4 <= p; q += 4)
            for (int64_t k = 0; k < 4; ++k) least[k] = std::min(least[k], row[q + k]);
        for (; q < p; ++q) least[0] = std::min(least[0], row[q]);
        least_[size_t(p)] = std::min(std::min(least[0], least[1]), std::min(least[2], least[3]));
        stale_[size_t(p)] = 0;
    }
}

// Put a loss into row p, column q below it, and keep the least of the row, or note that it must be looked for.
void Brown::set_loss(int64_t p, int64_t q, double value) {
    double& entry = losses_[size_t(p * width_ + q)];
    if (value < least_[size_t(p)])
        least_[size_t(p)] = value;
    else if (entry <= least_[size_t(p)] && value > entry)
        stale_[size_t(p)] = 1;
    entry = value;
}

void Brown::merge_best() {
    refresh();
    const double best = *std::min_element(least_.begin(), least_.end());
    std::pair<int32_t, int32_t> names{std::numeric_limits<int32_t>::max(), 0};
    for (int64_t p = 0; p < width_; ++p) {
        if (names_[size_t(p)] < 0 || least_[size_t(p)] > best + kTie) continue;
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
    touch(p);
    for (const int64_t x : others) {
        if (at(q, x) || at(x, q)) touch(x);
        put(p, x, at(p, x) + at(q, x));
        put(x, p, at(x, p) + at(x, q));
        put(q, x, 0);
        put(x, q, 0);
    }
    put(p, p, at(p, p) + at(p, q) + at(q, p) + at(q, q));
    put(p, q, 0);
    put(q, p, 0);
    put(q, q, 0);
    sizes_[size_t(p)] += sizes_[size_t(q)];
    totals_[size_t(p)] += totals_[size_t(q)];
    names_[size_t(p)] = std::min(names_[size_t(p)], names_[size_t(q)]);
    slots_[size_t(names_[size_t(p)])] = int32_t(p);
    names_[size_t(q)] = -1;
    sizes_[size_t(q)] = totals_[size_t(q)] = 0;
    for (int64_t x = 0; x < width_; ++x)
        if (x != q) set_loss(std::max(x, q), std::min(x, q), kNever);
    --active_;
    name_totals(p);
}

// Change what pairs share, as if column and row q were already in p; bigrams are still as they were.
void Brown::move_gains(int64_t p, int64_t q, const std::vector<int64_t>& others) {
    const int64_t both = at(p, p) + at(p, q) + at(q, p) + at(q, q);
    std::vector<int64_t> into, from;  // those before q, those behind it
    for (const int64_t x : others) {
        if (at(x, q)) into.push_back(x);
        if (at(q, x)) from.push_back(x);
    }
    std::vector<double> changes(static_cast<size_t>(width_), 0.0);
    for (const int64_t x : into) {
        const int64_t before = at(x, p), after = before + at(x, q);
        const double own = f(after) - f(before);
        const int64_t* row = &bigrams_[size_t(x * width_)];
        for (int64_t v = 0; v < width_; ++v)
            if (row[v]) changes[size_t(v)] += f(after + row[v]) - f(before + row[v]) - own;
    }
    std::vector<Held> behind;  // F(P + Q) − F(P) of those behind q
    for (const int64_t x : from) behind.push_back({x, at(p, x), at(p, x) + at(q, x), 0.0});
    for (Held& x : behind) x.f = f(x.q) - f(x.p);
    for (const int64_t v : others) {
        double change = gain(both, at(v, p) + at(v, q)) - gain(at(p, p), at(v, p)) - gain(at(p, q), at(v, q)) +
                        gain(both, at(p, v) + at(q, v)) - gain(at(p, p), at(p, v)) - gain(at(q, p), at(q, v));
        const int64_t* row = &bigrams_[size_t(v * width_)];
        for (const Held& x : behind)
            if (const int64_t count = row[x.place]) change += f(x.q + count) - f(x.p + count) - x.f;
        shared(p, v) += change + changes[size_t(v)];
    }
    reshare(others, [&](int64_t x) { return std::pair(at(x, p), at(x, q)); });
    reshare(others, [&](int64_t x) { return std::pair(at(p, x), at(q, x)); });
}

// Change what pairs of classes gain by neighbours p and q, which become one; `counts` says how often a class has them.
// With P and Q those counts, that is D(P + Q, P' + Q') − D(P, P') − D(Q, Q'), 0 where neither class has q.
template <typename Counts>
void Brown::reshare(const std::vector<int64_t>& others, const Counts& counts) {
    std::vector<Held> with_q, without;  // f: F(P + Q) − F(P) − F(Q)
    for (const int64_t x : others) {
        const auto [p, q] = counts(x);
        if (q)
            with_q.push_back({x, p, q, gain(p, q)});
        else if (p)
            without.push_back({x, p, 0, f(p)});
    }
    for (size_t k = 0; k < with_q.size(); ++k) {
        const Held u = with_q[k];
        double* row = &shared_[size_t(u.place * width_)];
        for (size_t l = 0; l < k; ++l) {  // ascending: row u has all before it
            const Held& v = with_q[l];
            row[v.place] += f(u.p + u.q + v.p + v.q) - f(u.p + v.p) - f(u.q + v.q) - u.f - v.f;
        }
        const double own = f(u.p + u.q) - f(u.p);
        for (const Held& v : without) shared(u.place, v.place) += f(u.p + u.q + v.p) - f(u.p + v.p) - own;
    }
}

}  // namespace tagline
