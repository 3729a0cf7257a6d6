// Renders the data that handleSummary gets. Written for Plimsoll from the public description of these functions and
// from what summaries look like.

const DEFAULT_STATS = ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)'];
const COLOURS = { bold: '\x1b[1m', faint: '\x1b[2m', red: '\x1b[31m', green: '\x1b[32m', cyan: '\x1b[36m', end: '\x1b[0m' };

function painter(on) {
  return (text, ...styles) => (on ? styles.map((style) => COLOURS[style]).join('') + text + COLOURS.end : text);
}

// 1234567 bytes as '1.2 MB'.
function bytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  if (Math.abs(value) < 10) return `${trimmed(value, 2)} B`;
  const step = Math.min(Math.floor(Math.log(Math.abs(value)) / Math.log(1000) + 1e-12), units.length - 1);
  const scaled = Math.floor((value / 1000 ** step) * 10 + 0.5) / 10;
  return `${scaled < 10 ? scaled.toFixed(1) : scaled.toFixed(0)} ${units[step]}`;
}

function trimmed(value, digits) {
  return String(Number(value.toFixed(digits)));
}

// Milliseconds in the largest fitting unit, or in the one that the options name.
function duration(ms, unit) {
  if (unit === 's') return `${(ms / 1000).toFixed(2)}s`;
  if (unit === 'ms') return `${ms.toFixed(2)}ms`;
  if (unit === 'us') return `${(ms * 1000).toFixed(2)}µs`;
  if (ms === 0) return '0s';
  if (ms < 0.001) return `${Math.trunc(ms * 1e6)}ns`;
  if (ms < 1) return `${trimmed(Math.trunc(ms * 1e5) / 100, 2)}µs`;
  if (ms < 1000) return `${trimmed(Math.trunc(ms * 100) / 100, 2)}ms`;
  if (ms < 60000) return `${trimmed(Math.trunc(ms / 10) / 100, 2)}s`;
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 ? String(minutes).padStart(2, '0') : minutes}m${String(seconds % 60).padStart(2, '0')}s`;
}

export function humanizeValue(value, metric, timeUnit) {
  if (metric.type === 'rate') {
    return `${(Math.trunc(value * 100 * 100) / 100).toFixed(2)}%`;
  }
  if (metric.contains === 'data') return bytes(value);
  if (metric.contains === 'time') return duration(value, timeUnit);
  return trimmed(value, 6);
}

// The columns of one metric's line.
function columnsOf(metric, timeUnit, stats) {
  const { values } = metric;
  const show = (value) => humanizeValue(value, metric, timeUnit);
  switch (metric.type) {
    case 'counter':
      return [show(values.count), `${metric.contains === 'data' ? bytes(values.rate) : trimmed(values.rate, 6)}/s`];
    case 'gauge':
      return [show(values.value), `min=${show(values.min)}`, `max=${show(values.max)}`];
    case 'rate':
      return [show(values.rate), `${values.passes} out of ${values.passes + values.fails}`];
    default:
      return stats
        .filter((stat) => values[stat] !== undefined)
        .map((stat) => `${stat}=${stat === 'count' ? values[stat] : show(values[stat])}`);
  }
}

function failed(metric) {
  return Object.values(metric.thresholds || {}).some((threshold) => !threshold.ok);
}

function metricLines(data, options, paint) {
  const names = Object.keys(data.metrics).filter((name) => name !== 'checks' || data.metrics[name].values).sort((a, b) => {
    const [base, other] = [a.split('{')[0], b.split('{')[0]];
    return base === other ? a.localeCompare(b) : base.localeCompare(other);
  });
  const shown = (name) => (name.includes('{') ? `  { ${name.slice(name.indexOf('{') + 1, -1)} }` : name);
  const width = Math.max(0, ...names.map((name) => shown(name).length)) + 3;
  const stats = options.summaryTrendStats || (data.options && data.options.summaryTrendStats) || DEFAULT_STATS;
  const unit = options.summaryTimeUnit || (data.options && data.options.summaryTimeUnit) || undefined;
  return names.map((name) => {
    const metric = data.metrics[name];
    const hasThresholds = Object.keys(metric.thresholds || {}).length > 0;
    const mark = !hasThresholds ? ' ' : failed(metric) ? paint('✗', 'red') : paint('✓', 'green');
    const dots = paint('.'.repeat(width - shown(name).length), 'faint');
    const [first, ...rest] = columnsOf(metric, unit, stats);
    return `${mark} ${shown(name)}${dots}: ${paint(first || '', 'cyan')} ${rest.join(' ')}`.trimEnd();
  });
}

function checkLines(group, indent, paint) {
  const lines = [];
  for (const check of group.checks || []) {
    const total = check.passes + check.fails;
    if (check.fails === 0) {
      lines.push(`${indent}${paint('✓', 'green')} ${check.name}`);
    } else {
      const share = Math.floor((100 * check.passes) / total);
      lines.push(paint(`${indent}✗ ${check.name}`, 'red'));
      lines.push(paint(`${indent} ↳  ${share}% — ✓ ${check.passes} / ✗ ${check.fails}`, 'red'));
    }
  }
  for (const inner of group.groups || []) {
    lines.push('', `${indent}█ ${inner.name}`, '', ...checkLines(inner, `${indent}  `, paint));
  }
  return lines;
}

export function textSummary(data, options = {}) {
  const paint = painter(options.enableColors === true);
  const indent = options.indent === undefined ? ' ' : options.indent;
  const checks = checkLines(data.root_group || {}, '    ', paint);
  const metrics = metricLines(data, options, paint).map((line) => `  ${line}`);
  const lines = checks.length > 0 ? [...checks, '', ...metrics] : metrics;
  return `${lines.map((line) => (line === '' ? '' : indent + line)).join('\n')}\n`;
}

function escaped(text) {
  const named = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
  return String(text).replace(/[&<>"']/g, (character) => named[character]);
}

// Thresholds as test cases, in the XML that continuous integration reads.
export function jUnit(data, options = {}) {
  const suite = options.name || 'k6 thresholds';
  const cases = [];
  let failures = 0;
  for (const [name, metric] of Object.entries(data.metrics)) {
    for (const [expression, threshold] of Object.entries(metric.thresholds || {})) {
      const title = escaped(`${name} - ${expression}`);
      if (threshold.ok) {
        cases.push(`<testcase name="${title}" classname="${escaped(options.classname || 'Root')}" />`);
      } else {
        failures += 1;
        const message = escaped(`threshold exceeded: ${name} value: ${JSON.stringify(metric.values)}`);
        cases.push(`<testcase name="${title}" classname="${escaped(options.classname || 'Root')}"><failure message="${message}" /></testcase>`);
      }
    }
  }
  return `<?xml version="1.0"?>\n<testsuites tests="${cases.length}" failures="${failures}">\n`
    + `<testsuite name="${escaped(suite)}" tests="${cases.length}" failures="${failures}">${cases.join('\n')}\n</testsuite>\n</testsuites>`;
}
