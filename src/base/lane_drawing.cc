#include "base/lane_drawing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace belay {
namespace {

constexpr int kMaxWidth = 110;
constexpr int kMaxLanes = 12;

// A grid of cells that hold lines (which of the four sides they reach) or a character of text.
class Canvas {
 public:
  enum Side : uint8_t { kUp = 1, kDown = 2, kLeft = 4, kRight = 8, kJoint = 16 };

  Canvas(int width, int height)
      : width_(width), lines_(static_cast<size_t>(width * height), 0), text_(lines_.size(), '\0') {}

  void Horizontal(int y, int x1, int x2) {
    for (int x = x1; x <= x2; ++x) Line(x, y) |= (x > x1 ? kLeft : 0) | (x < x2 ? kRight : 0);
  }
  void Vertical(int x, int y1, int y2) {
    Line(x, y1) |= kJoint;
    Line(x, y2) |= kJoint;
    if (y1 > y2) std::swap(y1, y2);
    for (int y = y1; y <= y2; ++y) Line(x, y) |= (y > y1 ? kUp : 0) | (y < y2 ? kDown : 0);
  }
  void Text(int x, int y, const std::string& text) {
    for (size_t i = 0; i < text.size(); ++i) text_[Index(x + static_cast<int>(i), y)] = text[i];
  }

  std::string Render() const {
    std::string out;
    for (size_t begin = 0; begin < lines_.size(); begin += static_cast<size_t>(width_)) {
      std::string row;
      for (size_t i = begin; i < begin + static_cast<size_t>(width_); ++i) {
        if (text_[i] != '\0') {
          row += text_[i];
        } else {
          row += Glyph(lines_[i]);
        }
      }
      row.erase(row.find_last_not_of(' ') + 1);
      out += row + "\n";
    }
    return out;
  }

 private:
  size_t Index(int x, int y) const { return static_cast<size_t>(y * width_ + x); }
  uint8_t& Line(int x, int y) { return lines_[Index(x, y)]; }

  static const char* Glyph(uint8_t line) {
    static const char* const kGlyphs[16] = {" ", "│", "│", "│", "─", "┘", "┐", "┤",
                                            "─", "└", "┌", "├", "─", "┴", "┬", "┼"};
    // A line that only passes over a lane is not joined to it.
    if (line == (kUp | kDown | kLeft | kRight)) return "│";
    return kGlyphs[line & 15];
  }

  int width_;
  std::vector<uint8_t> lines_;
  std::vector<char> text_;
};

class LaneDrawing {
 public:
  LaneDrawing(const std::vector<std::string>& lanes, const std::vector<LaneStep>& steps)
      : lanes_(lanes), steps_(steps), column_(steps.size()), previous_(steps.size(), -1) {
    for (const std::string& lane : lanes_) margin_ = std::max(margin_, static_cast<int>(lane.size()) + 1);
    PlaceInColumns();
    Route();
    MeasureColumns();
  }

  bool Fits() const {
    return drawable_ && width_ <= kMaxWidth && static_cast<int>(lanes_.size()) <= kMaxLanes;
  }

  std::string Draw() const {
    Canvas canvas(width_, 2 * static_cast<int>(lanes_.size()) - 1);
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      canvas.Text(0, 2 * static_cast<int>(lane), lanes_[lane]);
    }
    for (int step = 0; step < Count(); ++step) {
      if (previous_[step] >= 0) canvas.Horizontal(Row(step), After(previous_[step]), Before(step));
      canvas.Text(Left(step), Row(step), " " + steps_[step].label + " ");
    }
    for (const auto& [source, target, gutter] : routes_) {
      int x = TrackX(gutter, source);
      canvas.Horizontal(Row(source), After(source), x);
      canvas.Vertical(x, Row(source), Row(target));
      canvas.Horizontal(Row(target), x, Before(target));
    }
    return canvas.Render();
  }

 private:
  struct Edge {
    int source;
    int target;
    int gutter;  // the gap left of this column, where the line goes from lane to lane
  };

  int Count() const { return static_cast<int>(steps_.size()); }
  int Row(int step) const { return 2 * steps_[step].lane; }
  int Left(int step) const { return column_x_[column_[step]]; }
  int Before(int step) const { return Left(step) - 1; }
  int After(int step) const { return Left(step) + static_cast<int>(steps_[step].label.size()) + 2; }
  int TrackX(int gutter, int source) const {
    const auto& tracks = tracks_.at(gutter);
    int track = static_cast<int>(std::distance(tracks.begin(), tracks.find(source)));
    return column_x_[gutter] - 2 - 2 * (static_cast<int>(tracks.size()) - 1 - track);
  }

  void PlaceInColumns() {
    std::vector<int> last(lanes_.size(), -1);
    for (int step = 0; step < Count(); ++step) {
      int& last_in_lane = last[steps_[step].lane];
      previous_[step] = last_in_lane;
      int column = last_in_lane < 0 ? 0 : column_[last_in_lane] + 1;
      for (int source : steps_[step].after) column = std::max(column, column_[source] + 1);
      column_[step] = column;
      columns_ = std::max(columns_, column + 1);
      last_in_lane = step;
    }
  }

  // Nothing of the lane lies between the two columns.
  bool LaneIsFree(int lane, int from, int to) const {
    for (int step = 0; step < Count(); ++step) {
      if (steps_[step].lane == lane && column_[step] > from && column_[step] < to) return false;
    }
    return true;
  }

  // A line leaves its lane where no later step of that lane could be taken for its source, and enters
  // the other where it cannot be taken for leading to an earlier step.
  void Route() {
    for (int target = 0; target < Count(); ++target) {
      for (int source : steps_[target].after) {
        if (steps_[source].lane == steps_[target].lane) continue;
        int from = column_[source];
        int to = column_[target];
        int gutter = to;
        if (!LaneIsFree(steps_[source].lane, from, to)) {
          gutter = from + 1;
          if (!LaneIsFree(steps_[target].lane, from, to)) drawable_ = false;
        }
        routes_.push_back({source, target, gutter});
        tracks_[gutter].insert(source);
      }
    }
  }

  void MeasureColumns() {
    std::vector<int> label_width(columns_, 0);
    for (int step = 0; step < Count(); ++step) {
      int& width = label_width[column_[step]];
      width = std::max(width, static_cast<int>(steps_[step].label.size()) + 2);
    }
    int x = margin_;
    for (int column = 0; column < columns_; ++column) {
      auto tracks = tracks_.find(column);
      int lines = tracks == tracks_.end() ? 0 : static_cast<int>(tracks->second.size());
      x += column == 0 ? 0 : std::max(2, 1 + 2 * lines);
      column_x_.push_back(x);
      x += label_width[column];
    }
    width_ = x + 1;
  }

  const std::vector<std::string>& lanes_;
  const std::vector<LaneStep>& steps_;
  std::vector<int> column_;
  std::vector<int> previous_;  // the step before in the same lane, or -1
  std::vector<int> column_x_;
  std::vector<Edge> routes_;
  std::map<int, std::set<int>> tracks_;  // gutter -> sources whose lines change lanes there
  int columns_ = 0;
  int margin_ = 0;
  int width_ = 0;
  bool drawable_ = true;
};

}  // namespace

std::string DrawLanes(const std::vector<std::string>& lanes, const std::vector<LaneStep>& steps) {
  if (lanes.empty() || steps.empty()) return "";
  LaneDrawing drawing(lanes, steps);
  return drawing.Fits() ? drawing.Draw() : "";
}

}  // namespace belay
