/* { "does": "a value that is not a number is left out with a warning",
     "metrics": {"hits": []}, "warnings": ["not a number"] } */
import { Counter } from 'k6/metrics';
const hits = new Counter('hits');
export default function () { hits.add('many'); }
