/* { "does": "finally runs when a request throws, and the exception goes on", "settings": {"throw": true}, "console": ["caught", "finally"] } */
import http from 'k6/http';
export default function () {
  try {
    try { http.get('http://refused.test/'); } finally { console.log('caught'); }
  } catch (e) { console.log('finally'); }
}
