/* { "does": "all four kinds of metrics take values; rates take truth, trends and counters take numbers",
     "metrics": {"my_counter": [1, 2.5], "my_gauge": [3], "my_rate": [1, 0, 1], "my_trend": [10, 20]},
     "console": ["my_counter"] } */
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
const counter = new Counter('my_counter');
const gauge = new Gauge('my_gauge');
const rate = new Rate('my_rate');
const trend = new Trend('my_trend', true);
export default function () {
  counter.add(1); counter.add(2.5); gauge.add(3);
  rate.add(true); rate.add(0); rate.add(7);
  trend.add(10); trend.add('20');
  console.log(counter.name);
}
