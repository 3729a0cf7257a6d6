/* { "does": "a name among the tags of the scenario replaces the URL", "tags": {"http_reqs": [{"name": "shop", "url": "shop"}, {"name": "shop", "url": "shop"}]} } */
import http from 'k6/http';
export const options = {
  scenarios: { default: { executor: 'per-vu-iterations', tags: { name: 'shop' } } },
};
export default function () {
  http.get('http://h.test/1');
  http.get('http://h.test/redirect/0');
}
