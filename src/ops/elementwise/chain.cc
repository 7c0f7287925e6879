#include "ops/elementwise/chain.h"

#include <algorithm>
#include <memory>

#include "ops/loop_nest.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

struct Chain {
  std::vector<PlanRef> whole, rest;
  struct Beside {
    Spread spread;
    int binding;
  };
  std::vector<Beside> beside;
};

struct ChainBody {
  std::shared_ptr<const Chain> chain;
  int x, out;
  int64_t rows, row, together;
  PieceScratch<float> blocks;  // what one step leaves to the next

  void operator()(const Frame& frame) const {
    blocks.For(frame, [&](int64_t begin, int64_t end, float* buffer) {
      for (int64_t block = begin; block < end; ++block) Block(frame, block, reinterpret_cast<char*>(buffer));
    });
  }

  void Block(const Frame& frame, int64_t block, char* buffer) const {
    const bool full = (block + 1) * together <= rows;
    const std::vector<PlanRef>& plans = full ? chain->whole : chain->rest;
    const int64_t offset = block * together * row * static_cast<int64_t>(sizeof(float));
    char* value = frame.at[x] + offset;
    for (size_t i = 0; i < plans.size(); ++i) {
      const Chain::Beside& beside = chain->beside[i];
      char* to = i + 1 == plans.size() ? frame.at[out] + offset : buffer;
      char* at[3] = {value, to, nullptr};
      if (beside.spread != Spread::kNothing) {
        at[1] = frame.at[beside.binding] + (beside.spread == Spread::kWhole ? offset : 0);
        at[2] = to;
      }
      plans[i]->Run({at, nullptr});
      value = to;
    }
  }
};

}  // namespace

int64_t ChainBlockRows(int64_t rows, int64_t row) {
  constexpr int64_t kTogether = 8192;  // elements: 32 KiB
  return std::min(rows, std::max<int64_t>(1, kTogether / row));
}

void PlanChain(Plan& plan, const ChainArgs& args, std::vector<PlanRef> whole, std::vector<PlanRef> rest) {
  auto chain = std::make_shared<Chain>();
  chain->whole = std::move(whole), chain->rest = std::move(rest);
  plan.MayLieOn(args.x.binding);
  for (const ChainStep& step : args.steps) {
    chain->beside.push_back({step.spread, step.operand.binding});
    if (step.spread == Spread::kWhole) plan.MayLieOn(step.operand.binding);
  }
  const int64_t count = args.rows * args.row;
  plan.SetCost(50 + static_cast<uint64_t>(count) / 4 * args.steps.size());
  const int64_t together = ChainBlockRows(args.rows, args.row), block = together * args.row;
  const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / block);
  plan.SetBody(ChainBody{chain,
                         args.x.binding,
                         args.out.binding,
                         args.rows,
                         args.row,
                         together,
                         {plan, (args.rows + together - 1) / together, grain, block}});
}

}  // namespace belay::ops
