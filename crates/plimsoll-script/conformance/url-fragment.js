/* { "does": "a fragment stays in the URL that scripts and tags see, and never goes on the wire", "requests": ["GET /get?a=1", "GET /get"], "console": ["http://httpbin.test/get?a=1#top http://httpbin.test/get?a=1#top", "http://httpbin.test/get"], "tags": { "http_reqs": [{ "url": "http://httpbin.test/get?a=1#top", "name": "http://httpbin.test/get?a=1#top" }, { "url": "http://httpbin.test/get" }] } } */
import http from 'k6/http';
export default function () {
  const answer = http.get('http://httpbin.test/get?a=1#top');
  console.log(answer.url, answer.request.url);
  console.log(http.get('http://httpbin.test/get#').url);
}
