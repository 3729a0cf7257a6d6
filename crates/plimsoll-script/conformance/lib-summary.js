/* { "does": "humanizeValue and jUnit of k6-summary", "console": ["12.34ms 1.5 MB 99.12% 3", "true true"] } */
import { humanizeValue, jUnit, textSummary } from 'https://jslib.k6.io/k6-summary/0.1.0/index.js';
export default function () {
  const show = (type, contains, value) => humanizeValue(value, { type, contains }, undefined);
  console.log(show('trend', 'time', 12.345), show('counter', 'data', 1500000), show('rate', 'default', 0.99129), show('counter', 'default', 3));
  const data = { metrics: { checks: { type: 'rate', contains: 'default', values: { rate: 0.5, passes: 1, fails: 1 }, thresholds: { 'rate>0.9': { ok: false } } } }, root_group: { checks: [{ name: 'is <ok>', passes: 1, fails: 1 }], groups: [] } };
  console.log(jUnit(data).includes('failures="1"'), textSummary(data, { indent: ' ' }).includes('✗ is <ok>'));
}
