/* { "does": "a name among the tags of the run replaces the URL, also on a redirect", "settings": {"tags": {"name": "all"}}, "tags": {"http_reqs": [{"name": "all", "url": "all"}, {"name": "all", "url": "all"}]} } */
import http from 'k6/http';
export default function () {
  http.get('http://h.test/redirect/1');
}
