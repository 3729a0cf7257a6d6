/* { "does": "html() is not there yet: it says so and ends the test, also where a script would catch it", "k6": "k6 has it", "missing": "res.html() is not there yet", "console": [], "exit": 107 } */
import http from 'k6/http';
export default function () {
  try {
    http.get('http://h.test/html').html();
  } catch (error) {
    console.log('caught', error);
  }
  console.log('went on');
}
