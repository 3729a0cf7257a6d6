/* { "does": "values carry their own tags besides those of scenario and group",
     "tags": {"hits": [{"page": "home", "scenario": "default", "group": ""}, {"page": null}]} } */
import { Counter } from 'k6/metrics';
const hits = new Counter('hits');
export default function () { hits.add(1, { page: 'home' }); hits.add(1); }
