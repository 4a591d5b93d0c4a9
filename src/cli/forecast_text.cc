// SPDX-License-Identifier: MIT
#include "cli/forecast_text.h"

#include <fmt/format.h>

#include "output/terminal.h"

namespace offcpu::cli {
namespace {

std::string TargetLine(const record::SwitchRates& rates) {
  const std::string machine = fmt::format("{:.0f} a second on the whole machine", rates.machine);
  if (!rates.target) return "not known before the command runs; " + machine;
  if (rates.target_threads == 0) return machine;
  return fmt::format("{:.0f} a second of the {} target threads, {}", *rates.target,
                     rates.target_threads, machine);
}

std::string CostLine(const record::Forecast& forecast) {
  std::string text = fmt::format("at most {:.1f} us a switch, {:.2f} us in the reader",
                                 forecast.switch_us, forecast.reader_us);
  if (const auto switches = forecast.paid_switches()) {
    const double cpus = *switches * (forecast.switch_us + forecast.reader_us) / 1e6;
    text += fmt::format(": {:.2f} % of the machine's {} CPUs",
                        100 * cpus / static_cast<double>(forecast.cpus), forecast.cpus);
  }
  return text;
}

std::string DataLine(const record::Forecast& forecast) {
  std::string text =
      fmt::format("about {} bytes a switch through the rings", forecast.bytes_a_switch);
  if (const auto switches = forecast.paid_switches()) {
    text += fmt::format(", {:.2f} MB a second",
                        *switches * static_cast<double>(forecast.bytes_a_switch) / 1e6);
  }
  return text + "; the profile grows with distinct stacks, not with time";
}

}  // namespace

std::string ForecastText(const record::Forecast& forecast) {
  std::string text = fmt::format("Back end          {}\n", forecast.back_end);
  if (!forecast.better.empty()) text += fmt::format("A better one      {}\n", forecast.better);
  for (const std::string& warning : forecast.warnings) {
    text += fmt::format("Mind              {}\n", warning);
  }
  text += fmt::format("Context switches  {} (counted for {})\n", TargetLine(forecast.rates),
                      output::FormatDuration(forecast.rates.measured));
  text += fmt::format("Cost              {}\n", CostLine(forecast));
  text += fmt::format("Data              {}\n", DataLine(forecast));
  return text;
}

}  // namespace offcpu::cli
