/* { "does": "the same metric may be declared twice, but not as another kind", "load_error": "declared twice", "exit": 107 } */
import { Counter, Trend } from 'k6/metrics';
const a = new Counter('hits');
const b = new Counter('hits');
const c = new Trend('hits');
export default function () {}
