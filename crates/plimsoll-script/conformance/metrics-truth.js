/* { "does": "true and false count as one and nothing in every kind", "metrics": {"cc": [1, 0], "tt": [1, 0], "rr": [1, 0]} } */
import { Counter, Rate, Trend } from 'k6/metrics';
const [counter, trend, rate] = [new Counter('cc'), new Trend('tt'), new Rate('rr')];
export default function () {
  for (const truth of [true, false]) { counter.add(truth); trend.add(truth); rate.add(truth); }
}
