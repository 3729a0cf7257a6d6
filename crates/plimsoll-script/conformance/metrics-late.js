/* { "does": "metrics can only be declared in the init code", "exception": "init code" } */
import { Counter } from 'k6/metrics';
export default function () { new Counter('late'); }
