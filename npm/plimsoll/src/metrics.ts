// What an instance says about itself, as Prometheus reads it. Names are those of the guard, but for their beginning.

import type { State } from './index.js';

type Row = readonly [name: string, kind: 'gauge' | 'counter', help: string, values: readonly (readonly [string, number | undefined])[]];

export function metricsText(state: State, name: string): string {
  const refused = state.refusedCount;
  const rows: readonly Row[] = [
    ['arrived_total', 'counter', 'Requests that came.', [['', state.arrivedCount]]],
    ['admitted_total', 'counter', 'Requests that were let through.', [['', state.admittedCount]]],
    [
      'requests_total',
      'counter',
      'Requests by what became of them.',
      [
        ['outcome="served"', state.servedCount],
        ['outcome="failed"', state.failedCount],
        ['outcome="left"', state.leftCount],
        ['outcome="refused_full"', refused.full],
        ['outcome="refused_waited"', refused.waited],
        ['outcome="refused_late"', refused.late],
      ],
    ],
    ['would_refuse_total', 'counter', 'Requests that only a dry run let through.', [['', state.wouldRefuseCount]]],
    ['limit', 'gauge', 'Requests that may be in flight, between whole numbers.', [['', state.limit]]],
    ['in_flight', 'gauge', 'Requests in flight.', [['', state.inFlight]]],
    ['waiting', 'gauge', 'Requests that wait.', [['', state.waiting]]],
    ['saturation', 'gauge', '0 to 100: share of the limit in use, 100 while requests are refused.', [['', state.saturation]]],
    ['loop_lag_seconds', 'gauge', 'How late the event loop is, garbage collection not counted.', [['', state.lagMs / 1e3]]],
    ['loop_pass_ratio', 'gauge', 'Share of requests that the state of the loop lets pass.', [['', state.passRatio]]],
    ['accept_queue', 'gauge', 'Connections that wait in the kernel.', [['', state.acceptQueue]]],
  ];
  const own = `name="${name}",worker="${state.worker}",thread="${state.thread}"`;
  const lines: string[] = [];
  for (const [metric, kind, help, values] of rows) {
    const known = values.filter(([, value]) => value !== undefined);
    if (known.length === 0) {
      continue;
    }
    lines.push(`# HELP plimsoll_node_${metric} ${help}`, `# TYPE plimsoll_node_${metric} ${kind}`);
    for (const [label, value] of known) {
      lines.push(`plimsoll_node_${metric}{${own}${label === '' ? '' : `,${label}`}} ${value}`);
    }
  }
  return `${lines.join('\n')}\n`;
}
