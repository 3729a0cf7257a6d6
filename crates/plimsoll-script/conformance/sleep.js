/* { "does": "sleep takes seconds and fractions", "slept_ms": 1250, "console": ["undefined"] } */
import { sleep } from 'k6';
export default function () { console.log(sleep(1)); sleep(0.25); }
