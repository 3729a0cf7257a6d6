/* { "does": "a name that is set on the virtual user replaces the URL, also that of http.url; one of the request replaces it", "tags": {"http_reqs": [{"name": "shop", "url": "shop"}, {"name": "shop", "url": "shop"}, {"name": "item", "url": "item"}, {"name": "http://h.test/4", "url": "http://h.test/4"}]} } */
import http from 'k6/http';
import exec from 'k6/execution';
export default function () {
  exec.vu.metrics.tags.name = 'shop';
  http.get('http://h.test/1');
  http.get(http.url`http://h.test/${2}`);
  http.get('http://h.test/3', { tags: { name: 'item' } });
  delete exec.vu.metrics.tags.name;
  http.get('http://h.test/4');
}
