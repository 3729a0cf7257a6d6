/* { "does": "a URL object can be requested", "k6": "k6 has no global URL", "requests": ["GET /p?q=1"] } */
import http from 'k6/http';
export default function () {
  const url = new URL('http://h.test/p');
  url.searchParams.append('q', 1);
  http.get(url);
}
