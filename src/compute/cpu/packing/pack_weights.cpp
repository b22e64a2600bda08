#include <fmt/format.h>

#include "base/checked_math.h"
#include "compute/cpu/cpu_backend.h"
#include "compute/host/check_matrix.h"
#include "compute/host/copies.h"

namespace inferflux::compute {

host::Buffer Cpu::LoadVector(Context& context, std::span<const float> values) {
  return host::CopyIn(context.arena, values);
}

Result<cpu::PackedMatrix> Cpu::LoadMatrix(Context& context, std::span<const HostMatrix> parts) {
  if (auto checked = host::CheckParts(parts); !checked) return Forward(checked);
  Matrix out;
  out.cols = parts.front().cols;
  std::string formats;
  std::vector<int64_t> offsets;
  uint64_t bytes = 0;
  for (const HostMatrix& part : parts) {
    const auto format = cpu::FormatOf(part, context.pool);
    const int64_t panels = (part.rows + cpu::kPanel - 1) / cpu::kPanel;
    out.parts.push_back({format, out.rows, part.rows, out.tasks, nullptr});
    out.rows += part.rows;
    out.tasks += (panels + cpu::kTaskPanels - 1) / cpu::kTaskPanels;
    offsets.push_back(static_cast<int64_t>(bytes));
    const auto part_bytes =
        CheckedMul(static_cast<uint64_t>(panels), static_cast<uint64_t>(cpu::PanelBytes(format, part.cols)));
    const auto sum = part_bytes ? CheckedAdd(bytes, (*part_bytes + 63) / 64 * 64) : std::nullopt;
    if (!sum) return Fail(ErrorCode::kResourceExhausted, "{}: its packed size overflows", part.name);
    bytes = *sum;
    if (!formats.empty()) formats += '+';
    formats += cpu::FormatName(format);
  }
  if (!context.repack) {
    out.unpacked.assign(parts.begin(), parts.end());
    for (const HostMatrix& part : parts) context.weight_bytes += host::StoredBytesOf(part);
    out.description = fmt::format("{} [{}, {}] packed for each matmul as {}, {}", host::TypesOf(parts), out.rows,
                                  out.cols, formats, CpuIsaName(context.kernels.isa));
    return out;
  }
  auto pages = host::Pages::Allocate(bytes, parts.front().name.c_str());
  if (!pages) return Forward(pages);
  out.pages = std::move(*pages);
  context.weight_bytes += static_cast<int64_t>(out.bytes());
  for (size_t p = 0; p < parts.size(); ++p) {
    cpu::PackedPart& part = out.parts[p];
    part.panels = out.pages.data() + offsets[p];
    const int64_t panel_bytes = cpu::PanelBytes(part.format, out.cols);
    context.pool.ParallelFor((part.outputs + cpu::kPanel - 1) / cpu::kPanel, 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) cpu::PackPanel(parts[p], part.format, n, part.panels + n * panel_bytes);
    });
  }
  out.description = fmt::format("{} [{}, {}] packed as {}, {}", host::TypesOf(parts), out.rows, out.cols, formats,
                                CpuIsaName(context.kernels.isa));
  return out;
}

Result<Cpu::Table> Cpu::LoadTable(Context& context, const HostMatrix& table) {
  if (auto checked = host::CheckParts({&table, 1}); !checked) return Forward(checked);
  context.weight_bytes += host::StoredBytesOf(table);
  return Table{table};
}

}  // namespace inferflux::compute
